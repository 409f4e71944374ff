"""The limits of decoding, and the checks of a medium against them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mmeval.errors import MediaLimitError
from mmeval.media.media import MAX_MEDIA_BYTES, Media

_SMALL_FILE = 4 * 2**20


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """How much one medium may take. Every limit is inclusive.

    ``max_seconds`` is wall time, checked between blocks of sound, frames and pages. The
    steps of a separate process (``mmeval.media.decode.apart``) have limits that the
    kernel enforces: a picture, a page, the text of a page, a mesh.
    """

    max_bytes: int = MAX_MEDIA_BYTES
    max_pixels: int = 36_000_000
    """Of one picture; 8K is 33 million."""
    max_drawn_pixels: int = 12_000_000
    """Of a picture that is drawn from shapes (SVG, a page), which may take several
    layers of its size."""
    max_audio_seconds: float = 3600.0
    max_audio_samples: int = 200_000_000
    """Over all channels; four bytes each once decoded."""
    max_video_frames: int = 100_000
    """Decoded, whether they are asked for or only skipped on the way."""
    max_video_pixels: int = 4096 * 2304
    """Of one frame."""
    max_mesh_vertices: int = 2_000_000
    max_mesh_faces: int = 4_000_000
    max_pages: int = 500
    max_text_chars: int = 20_000_000
    max_seconds: float = 120.0
    max_step_seconds: float = 1.25
    """Of processor time, for a small file."""
    max_step_bytes: int = 184 * 2**20
    """Of memory on top of the decoder's own, for a small file. It is checked for a
    picture, too."""

    def step_seconds(self, size: int) -> float:
        """Processor seconds for a step: half a second more per MiB of the file above
        four."""
        return self.max_step_seconds + max(0, size - _SMALL_FILE) / 2**21

    def step_bytes(self, size: int) -> int:
        """Bytes of memory for a step: 24 more for each byte of the file above four
        MiB."""
        return self.max_step_bytes + 24 * max(0, size - _SMALL_FILE)


DEFAULT_LIMITS = DecodeLimits()


def within(
    media: Media,
    limit: str,
    most: float,
    found: float,
    unit: str,
) -> None:
    """Raise MediaLimitError with medium and limit when more was found than allowed."""
    if found > most:
        raise MediaLimitError(
            f"{media.label}: {found:.15g} {unit} found, above the limit {limit} = "
            f"{most:.15g}"
        )


class Clock:
    """Checks ``max_seconds`` against the time since it was made."""

    def __init__(self, media: Media, limits: DecodeLimits) -> None:
        self._media = media
        self._most = limits.max_seconds
        self._start = time.monotonic()

    def check(self) -> None:
        """Raises MediaLimitError when the time is up."""
        within(
            self._media,
            "max_seconds",
            self._most,
            time.monotonic() - self._start,
            "seconds of decoding",
        )
