"""How much one medium may take: the limits of decoding, and the check that holds a finding against them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mmeval.errors import MediaLimitError
from mmeval.media import Media


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """How much one medium may take. Every limit is inclusive.

    ``max_seconds`` is wall time, looked at where a library can be interrupted: between blocks of sound, frames and
    pages. A picture and a mesh are decoded in one go; there the sizes bound the time.
    """

    max_bytes: int = 512 * 2**20
    max_pixels: int = 80_000_000
    """Of one picture or page."""
    max_audio_seconds: float = 3600.0
    max_audio_samples: int = 200_000_000
    """Over all channels; four bytes each once decoded."""
    max_video_frames: int = 100_000
    """Decoded, whether they are asked for or only passed on the way."""
    max_video_pixels: int = 8192 * 4352
    """Of one frame."""
    max_mesh_vertices: int = 5_000_000
    max_mesh_faces: int = 10_000_000
    max_pages: int = 500
    max_text_chars: int = 20_000_000
    max_seconds: float = 120.0


DEFAULT_LIMITS = DecodeLimits()


def within(media: Media, limit: str, most: float, found: float, unit: str) -> None:
    """Raise MediaLimitError, naming the medium and the limit, when more was found than is allowed."""
    if found > most:
        raise MediaLimitError(f"{media.label}: {found:.15g} {unit} found, above the limit {limit} = {most:.15g}")


class Clock:
    """Holds ``max_seconds`` against the time since it was made."""

    def __init__(self, media: Media, limits: DecodeLimits) -> None:
        self._media, self._most, self._start = media, limits.max_seconds, time.monotonic()

    def check(self) -> None:
        """Raises MediaLimitError when the time is up."""
        within(self._media, "max_seconds", self._most, time.monotonic() - self._start, "seconds of decoding")
