"""Pictures for tests: pixels by formula, painted parts, clips of them, trials that hold them,
and pictures of one colour with a file of their embeddings."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mmeval.media.encode import png
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, media_part, text_part
from mmeval.records.sample import Sample, user
from mmeval.records.trial import Trial

# Pictures for tests of metrics: pixels by formula, painted parts, and trials that
# hold them.

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def noise(height: int, width: int, seed: int = 1) -> Pixels:
    """Waves with noise on them, the same for the same seed."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        127 + 100 * np.sin(x / 9 + seed),
        127 + 100 * np.cos(y / 7),
        (x + y) * 255 / (height + width),
    ]
    return np.clip(
        np.stack(waves, -1) + rng.randint(-20, 21, (height, width, 3)), 0, 255
    ).astype(np.uint8)


def even(height: int, width: int, color: tuple[int, int, int]) -> Pixels:
    return np.full((height, width, 3), color, np.uint8)


def painted(
    pixels: Pixels, rows: slice, columns: slice, color: tuple[int, int, int]
) -> Pixels:
    done = pixels.copy()
    done[rows, columns] = color
    return done


def framed(
    pixels: Pixels, across: int, down: int, color: tuple[int, int, int]
) -> Pixels:
    """With a border: ``across`` pixels on the left and right, ``down`` above and
    below."""
    height, width = pixels.shape[:2]
    done = even(height, width, color)
    done[down : height - down, across : width - across] = pixels[
        down : height - down, across : width - across
    ]
    return done


def medium(pixels: Pixels) -> Media:
    return png(Image.fromarray(pixels))


def shown(*pictures: Pixels | Media) -> Interleaved:
    return Interleaved(
        tuple(
            media_part(one if isinstance(one, Media) else medium(one))
            for one in pictures
        )
    )


def picture_trial(
    *answer: Pixels | Media,
    given: tuple[Pixels | Media, ...] = (),
    reference: tuple[Pixels | Media, ...] | None = None,
    **labels: Any,
) -> Trial:
    """A trial whose answer is pictures; ``given`` are those of its input, ``reference``
    those of its reference."""
    asked = (user("draw", *shown(*given).parts),)
    references = () if reference is None else (shown(*reference),)
    return Trial(Sample("s", asked, references, labels), output=shown(*answer))


DAMAGED = Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
"""Begins as a picture does, and is none."""


def by_scikit_image(one: Pixels, other: Pixels) -> float:
    """The structural similarity that ours is held against."""
    import skimage.metrics

    return float(
        skimage.metrics.structural_similarity(
            one, other, channel_axis=-1, data_range=255
        )
    )


# Clips of given pictures.


def clip_of(
    frames: Sequence[Pixels],
    *,
    form: str = "matroska",
    codec: str = "ffv1",
    pixels: str = "yuv420p",
    turned: int = 0,
    mirrored: bool = False,
) -> Media:
    """By default without loss of brightness; ten frames a second. Without pictures it
    has a track and no frame. Players turn it by degrees, against the clock, and then
    exchange left and right where it is ``mirrored``."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format=form) as out:
        # its class depends on the codec's name
        stream: Any = out.add_stream(codec, rate=10)
        stream.height, stream.width = frames[0].shape[:2] if frames else (32, 32)
        stream.pix_fmt = pixels
        if turned or mirrored:
            stream.set_display_rotation(turned, hflip=mirrored)
        for number, one in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(one, format="rgb24")
            frame.pts = number
            out.mux(stream.encode(frame))
        out.mux(stream.encode() if frames else [])
        if not frames:
            out.start_encoding()
    return Media.from_bytes(file.getvalue())


def greys(*shades: int) -> list[Pixels]:
    return [np.full((32, 32, 3), shade, np.uint8) for shade in shades]


# Pictures of one colour, and a file that gives each its colour as the embedding, each
# text one of its own.

COLOURS = {
    "red": (250, 10, 10),
    "reddish": (200, 60, 60),
    "green": (10, 250, 10),
    "greenish": (60, 200, 60),
    "blue": (10, 10, 250),
    "bluish": (70, 60, 190),
    "grey": (120, 120, 120),
}
MISSING = Part("image", raw="<<image1>>", label="image1")
"""A file that is named and not there."""


def colour(name: str) -> Media:
    return medium(even(8, 8, COLOURS[name]))


def picture(name: str) -> Part:
    """The picture of a colour; ``broken`` is none, ``unread`` is one in a format that
    mmeval does not read, and ``missing`` a file that is not there."""
    if name == "missing":
        return MISSING
    if name == "unread":
        from tests.support.unread_media import UNREAD

        return media_part(UNREAD["heic"].media, "image")
    return media_part(DAMAGED if name == "broken" else colour(name), "image")


def answer(*parts: str) -> Interleaved:
    """Names of pictures, and texts that begin with a colon."""
    return Interleaved(
        tuple(
            text_part(part[1:]) if part.startswith(":") else picture(part)
            for part in parts
        )
    )


def candidates(*names: str) -> tuple[Interleaved, ...]:
    return tuple(Interleaved((picture(name),)) for name in names)


def vectors_file(
    folder: Path, texts: Mapping[str, Sequence[float]] | None = None
) -> str:
    rows: list[object] = [
        {"sha256": colour(name).sha256, "vector": list(COLOURS[name])}
        for name in COLOURS
    ]
    rows += [
        {"text": text, "vector": list(vector)} for text, vector in (texts or {}).items()
    ]
    file = folder / "vectors.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)
