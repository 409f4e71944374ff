"""Limits of decoding, and checks of a medium against them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mmeval.errors import MediaLimitError
from mmeval.media.media import MAX_MEDIA_BYTES, Media

_SMALL_FILE = 4 * 2**20


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Limits for decoding one medium. All limits are inclusive.

    ``max_seconds`` is wall time, checked between blocks of sound, frames and pages.
    Steps in the decoding process have limits enforced by the kernel: a picture, a page,
    the text of a page, a mesh.
    """

    max_bytes: int = MAX_MEDIA_BYTES
    max_pixels: int = 36_000_000
    """Pixels of one picture; 8K has 33 million."""
    max_drawn_pixels: int = 12_000_000
    """Pixels of a picture drawn from shapes (SVG, a page).

    Drawing may need several layers of this size.
    """
    max_audio_seconds: float = 3600.0
    max_audio_samples: int = 200_000_000
    """Samples of all channels; four bytes each once decoded."""
    max_video_frames: int = 100_000
    """Decoded frames, including those that are only skipped."""
    max_video_pixels: int = 4096 * 2304
    """Pixels of one frame."""
    max_mesh_vertices: int = 2_000_000
    max_mesh_faces: int = 4_000_000
    max_pages: int = 500
    max_text_chars: int = 20_000_000
    max_seconds: float = 120.0
    max_step_seconds: float = 1.25
    """Processor seconds of a step, for a small file."""
    max_step_bytes: int = 184 * 2**20
    """Memory of a step beyond the decoder's own, for a small file.

    It is checked for pictures, too.
    """

    def step_seconds(self, size: int) -> float:
        """Processor seconds of a step: 0.5 more per MiB of the file above 4 MiB."""
        return self.max_step_seconds + max(0, size - _SMALL_FILE) / 2**21

    def step_bytes(self, size: int) -> int:
        """Bytes of memory of a step: 24 more per byte of the file above 4 MiB."""
        return self.max_step_bytes + 24 * max(0, size - _SMALL_FILE)


DEFAULT_LIMITS = DecodeLimits()


def within(
    media: Media,
    limit: str,
    maximum: float,
    actual: float,
    unit: str,
) -> None:
    """Raise MediaLimitError with medium and limit if ``actual`` exceeds ``maximum``."""
    if actual > maximum:
        raise MediaLimitError(
            f"{media.label}: {actual:.15g} {unit} found, above the limit {limit} = "
            f"{maximum:.15g}"
        )


class Clock:
    """Checks ``max_seconds`` against the time since its creation."""

    def __init__(self, media: Media, limits: DecodeLimits) -> None:
        self._media = media
        self._max_seconds = limits.max_seconds
        self._start = time.monotonic()

    def check(self) -> None:
        """Raises MediaLimitError if the time is over."""
        within(
            self._media,
            "max_seconds",
            self._max_seconds,
            time.monotonic() - self._start,
            "seconds of decoding",
        )
