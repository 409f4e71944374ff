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

    ``max_seconds`` is a limit of wall time. It is checked after each block of sound,
    each frame and each page. A step in the decoding process decodes a drawing, a page,
    the text of a page or a mesh. The kernel enforces the limits of a step.
    """

    max_bytes: int = MAX_MEDIA_BYTES
    max_pixels: int = 36_000_000
    """The number of pixels of one picture. An 8K picture has 33 million pixels."""
    max_drawn_pixels: int = 12_000_000
    """The number of pixels of a picture that is drawn from shapes (SVG, a page).

    Drawing may need several layers of this size.
    """
    max_audio_seconds: float = 3600.0
    max_audio_samples: int = 200_000_000
    """The number of samples of all channels together. A decoded sample takes four
    bytes."""
    max_video_frames: int = 100_000
    """The number of decoded frames, including skipped frames."""
    max_video_pixels: int = 4096 * 2304
    """The number of pixels of one frame."""
    max_mesh_vertices: int = 2_000_000
    max_mesh_faces: int = 4_000_000
    max_pages: int = 500
    max_text_chars: int = 20_000_000
    max_seconds: float = 120.0
    max_step_seconds: float = 1.25
    """Processor seconds of a step, for a small file."""
    max_step_bytes: int = 184 * 2**20
    """The memory of a step in addition to the decoder's own memory, for a small file.

    This limit also applies to pictures, which are decoded in this process.
    """

    def step_seconds(self, size: int) -> float:
        """Returns the maximum processor seconds of a step for a file of this size.

        Each MiB of the file above 4 MiB adds 0.5 seconds.
        """
        return self.max_step_seconds + max(0, size - _SMALL_FILE) / 2**21

    def step_bytes(self, size: int) -> int:
        """Returns the maximum bytes of memory of a step for a file of this size.

        Each byte of the file above 4 MiB adds 24 bytes.
        """
        return self.max_step_bytes + 24 * max(0, size - _SMALL_FILE)


DEFAULT_LIMITS = DecodeLimits()
"""The limits of all decoding, unless others are passed."""


def within(
    media: Media,
    limit: str,
    maximum: float,
    actual: float,
    unit: str,
) -> None:
    """Raises MediaLimitError if ``actual`` exceeds ``maximum``.

    The message names the medium and the limit.
    """
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
