"""Makes excerpts of media to describe them, in a form that most models take.

A smaller picture, the first minutes of a sound, the first pages or words of a document.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from mmeval.media.decode import (
    DecodeLimits,
    SoundStart,
    document_start,
    image,
    pages,
    sound_start,
)
from mmeval.media.encode import png, wav
from mmeval.media.media import Media
from mmeval.media.parts import Part, media_part, text_part

MAX_SIDE = 4096
"""Pixels of a picture, each way."""
MAX_AUDIO_SECONDS = 300
AUDIO_RATE = 16_000
"""Hz, in one channel, of a sound that is converted."""
MAX_DOCUMENT_CHARS = 20_000
MAX_DOCUMENT_PAGES = 8
"""Pages that are shown of a document without text."""
PAGE_DPI = 96.0
_PLAIN_PICTURES = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/svg+xml",
)
"""Formats that every server takes, or that are drawn before they are sent."""
_PLAIN_SOUNDS = ("audio/wav", "audio/mpeg")
"""Formats with a name in the usual interface."""


def is_large(media: Media, limits: DecodeLimits) -> bool:
    """Whether a picture is to be made smaller or converted. Decodes it."""
    side = max(image(media, limits=limits).size)
    return side > MAX_SIDE or media.mime not in _PLAIN_PICTURES


def smaller(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """The picture as PNG, with ``MAX_SIDE`` pixels at most each way."""
    whole = image(media, limits=limits)
    scale = min(1.0, MAX_SIDE / max(whole.size))
    size = (max(1, round(whole.width * scale)), max(1, round(whole.height * scale)))
    shown = whole if size == whole.size else whole.resize(size)
    return [media_part(png(shown))], f"a PNG of {size[0]} x {size[1]} pixels"


def is_long(media: Media, limits: DecodeLimits) -> bool:
    """Whether a sound is to be cut or converted. Decodes its beginning."""
    return _heard(media, limits).more or media.mime not in _PLAIN_SOUNDS


def sound_excerpt(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """The sound as WAV, its first ``MAX_AUDIO_SECONDS`` at most."""
    heard = _heard(media, limits)
    samples = heard.samples
    if heard.rate != AUDIO_RATE:
        import soxr

        samples = soxr.resample(samples, heard.rate, AUDIO_RATE, quality="soxr_hq")
    samples = samples[: MAX_AUDIO_SECONDS * AUDIO_RATE]
    length = f"its first {MAX_AUDIO_SECONDS} seconds" if heard.more else "the whole"
    sound = media_part(wav(samples, AUDIO_RATE))
    return [sound], f"{length} at {AUDIO_RATE:,} Hz"


def _heard(media: Media, limits: DecodeLimits) -> SoundStart:
    return sound_start(media, MAX_AUDIO_SECONDS, limits=limits)


def document_excerpt(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """The first ``MAX_DOCUMENT_CHARS`` characters of a document.

    Pictures of its first pages where it is a PDF without text. Raises the errors of
    ``mmeval.media.decode``.
    """
    words, more = document_start(media, MAX_DOCUMENT_CHARS, limits=limits)
    if not words.strip() and media.mime == "application/pdf":
        limits = replace(limits, max_pages=max(limits.max_pages, 100_000))
        first = islice(pages(media, dpi=PAGE_DPI, limits=limits), MAX_DOCUMENT_PAGES)
        shown = [media_part(png(page)) for page in first]
        return shown, f"{len(shown)} pictures of its pages, which hold no text,"
    count = f"{len(words):,} characters"
    about = f"its first {count}" if more else f"{count} of text"
    return [text_part(f"\n{words}\n")], about
