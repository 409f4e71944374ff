"""Makes previews: PNGs of SVG drawings, pages of PDFs, peaks of sounds, and geometries
of meshes.

Previews are in the report's ``media`` folder. Media with the same content share one
preview, whose file name contains the digest of the content. Previews of the previous
report are reused. If a time limit ends before all previews are made, the next report
makes the others.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import MmevalError
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.media_type import TEXT_MIMES
from mmeval.report.page.chunks import script
from mmeval.report.page.places import MEDIA, linked_or_copied

if TYPE_CHECKING:
    from PIL.Image import Image

LIMITS = DecodeLimits(
    max_bytes=64 * 2**20,
    max_pixels=40_000_000,
    max_mesh_vertices=2_000_000,
    max_mesh_faces=2_000_000,
    max_seconds=5.0,
)
"""The limits are smaller than for scoring, as previews are small."""
PAGES = 3
PAGE_DPI = 90.0
MAX_SIDE = 1600
"""The length of a drawn picture's longer side, in pixels."""
MAX_FACES = 200_000
PEAKS = 48
"""The number of peaks of a waveform."""
WAVEFORM_SECONDS = 600.0
"""The waveform of a longer sound shows its beginning only."""
MAX_TEXT = 20_000
NO_TIME = "not drawn within the time limit at the end of the run; run mmeval report"

_DRAWN = ("image/svg+xml", "image/tiff")
"""Pictures that browsers do not show, or that may contain scripts."""
_MESHES = (
    "model/obj",
    "model/off",
    "model/ply",
    "model/stl",
    "model/gltf-binary",
    "model/gltf+json",
)


class Previews:
    """Makes previews for a report. ``before`` is the report that it replaces.
    ``seconds`` limits the time of all previews (None: no limit). ``left_over`` counts
    the previews that were not made within this time."""

    def __init__(
        self,
        into: Path,
        before: Path,
        *,
        seconds: float | None,
    ) -> None:
        self._into, self._before = into / MEDIA, before / MEDIA
        self._seconds_left = math.inf if seconds is None else seconds
        self._failed: dict[str, str] = {}
        self.left_over = 0

    def of(self, media: Media) -> dict[str, Any]:
        """Returns the preview of a medium that no HTML element can show: ``src``,
        ``pages``, ``mesh`` or ``text``. If it cannot be shown, ``note`` is the reason.
        """
        if media.mime in _DRAWN:
            make = self._picture
        elif media.mime == "application/pdf":
            make = self._pages
        elif media.mime in _MESHES:
            make = self._mesh
        elif media.mime.startswith(TEXT_MIMES):
            make = _text
        else:
            return {"note": f"files of type {media.mime} are not shown"}
        return self._made(media, make)

    def waveform(self, media: Media) -> str:
        """Returns the peaks of a sound from its start to its end, each a digit from 0
        (silent) to 9 (the loudest of this sound). The result is empty if the sound
        cannot be decoded, or if no time is left."""
        return str(self._made(media, self._sound).get("peaks", ""))

    def _made(
        self, media: Media, make: Callable[[Media], dict[str, Any]]
    ) -> dict[str, Any]:
        """Returns a preview, or the reason why it cannot be made."""
        known = self._failed.get(media.sha256)
        if known is not None:
            return {"note": known}
        try:
            return make(media)
        except (
            Exception
        ) as error:  # the bytes may be hostile; the trial is shown without them
            note = self._failed[media.sha256] = _note(media, error)
            return {"note": note}

    def _picture(self, media: Media) -> dict[str, Any]:
        def draw() -> None:
            from mmeval.media.decode import image

            self._save(image(media, limits=LIMITS), name)

        name = f"{media.sha256}.png"
        if not self._ensure(name, draw):
            return {"note": NO_TIME}
        return {"src": f"{MEDIA}/{name}"}

    def _pages(self, media: Media) -> dict[str, Any]:
        def draw() -> None:
            from mmeval.media.decode import page_count, pages

            count = page_count(media, limits=LIMITS)
            pictures = pages(media, dpi=PAGE_DPI, limits=LIMITS)
            for number, picture in enumerate(islice(pictures, PAGES), start=1):
                self._save(picture, f"{media.sha256}-{number}.png")
            self._write(counts, json.dumps({"page_count": count}).encode())

        counts = f"{media.sha256}.json"
        if not self._ensure(counts, draw):
            return {"note": NO_TIME}
        count = json.loads((self._into / counts).read_bytes())["page_count"]
        shown = []
        for number in range(1, min(count, PAGES) + 1):
            name = f"{media.sha256}-{number}.png"
            if self._reused(name):
                shown.append(f"{MEDIA}/{name}")
        return {"pages": shown, "page_count": count}

    def _sound(self, media: Media) -> dict[str, Any]:
        def draw() -> None:
            self._write(name, json.dumps({"peaks": _peaks(media)}).encode())

        name = f"{media.sha256}.json"
        if not self._ensure(name, draw):
            return {"note": NO_TIME}
        return {"peaks": json.loads((self._into / name).read_bytes())["peaks"]}

    def _mesh(self, media: Media) -> dict[str, Any]:
        def draw() -> None:
            self._write(name, script("mesh", media.sha256, _geometry(media)))

        name = f"{media.sha256}.js"
        if not self._ensure(name, draw):
            return {"note": NO_TIME}
        return {"mesh": f"{MEDIA}/{name}"}

    def _ensure(self, name: str, make: Callable[[], None]) -> bool:
        """Makes a preview if it is missing and time is left. Returns whether the
        preview exists now."""
        if self._reused(name):
            return True
        if self._seconds_left <= 0:
            self.left_over += 1
            return False
        started = time.monotonic()
        try:
            make()
        finally:
            self._seconds_left -= time.monotonic() - started
        return True

    def _reused(self, name: str) -> bool:
        """Returns whether a preview is in the report, or was in the previous report."""
        target, earlier = self._into / name, self._before / name
        if not target.exists() and earlier.is_file():
            target.parent.mkdir(exist_ok=True)
            linked_or_copied(earlier, target)
        return target.exists()

    def _save(self, picture: Image, name: str) -> None:
        import io

        out = io.BytesIO()
        picture.thumbnail((MAX_SIDE, MAX_SIDE))
        picture.save(out, "PNG")
        self._write(name, out.getvalue())

    def _write(self, name: str, data: bytes) -> None:
        self._into.mkdir(exist_ok=True)
        (self._into / name).write_bytes(data)


def too_large(media: Media) -> str:
    """Returns why a picture is not passed to the browser: its header declares too many
    pixels, or no size. The result is empty if the browser may show the picture."""
    from mmeval.media.decode.picture_header import check_size

    try:
        check_size(media, limits=LIMITS)
    except (MmevalError, OSError) as error:
        return _note(media, error)
    return ""


def _note(media: Media, error: BaseException) -> str:
    words = str(error).replace(f"{media.label}: ", "") or type(error).__name__
    return " ".join(words.split())[:500]


def _geometry(media: Media) -> Mapping[str, Any]:
    """Returns vertices and faces as base64, their bounding box, and a note on
    omissions."""
    import numpy as np

    from mmeval.media.decode import mesh_arrays

    mesh = mesh_arrays(media, limits=LIMITS)
    vertices: Any = np.asarray(mesh.vertices, dtype="<f4")
    faces: Any = np.asarray(mesh.faces, dtype="<u4")
    note = ""
    if len(faces) > MAX_FACES or (not len(faces) and len(vertices) > MAX_FACES):
        step = -(-len(vertices) // MAX_FACES)
        note = (
            f"{len(faces):,} faces are too many: one point in {step} of its "
            f"{len(vertices):,} points is shown"
        )
        vertices, faces = vertices[::step], faces[:0]
    low = [round(float(value), 6) for value in vertices.min(axis=0)]
    high = [round(float(value), 6) for value in vertices.max(axis=0)]
    return {
        "vertices": base64.b64encode(vertices.tobytes()).decode(),
        "faces": base64.b64encode(faces.tobytes()).decode(),
        "box": [low, high],
        "note": note,
    }


def _peaks(media: Media) -> str:
    import numpy as np

    from mmeval.media.decode import sound_start

    sound = sound_start(media, WAVEFORM_SECONDS, limits=LIMITS)
    pieces = np.array_split(np.abs(sound.samples), min(PEAKS, len(sound.samples)))
    peaks = [float(piece.max()) for piece in pieces]
    loudest = max(peaks) or 1.0
    return "".join(str(round(9 * peak / loudest)) for peak in peaks)


def _text(media: Media) -> dict[str, Any]:
    """Returns the beginning of a text document. Its digest is checked first, so that a
    record from elsewhere cannot make the page show another file."""
    from mmeval.media.decode import document_text

    text = document_text(media, limits=LIMITS)
    note = ""
    if len(text) > MAX_TEXT:
        note = f"the first {MAX_TEXT:,} of {len(text):,} characters"
    return {"text": text[:MAX_TEXT], "note": note}
