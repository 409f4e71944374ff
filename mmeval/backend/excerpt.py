"""Makes excerpts of media for calls that describe them.

An excerpt is a smaller picture, the first minutes of a sound, or the first pages or
words of a document. Most models accept the format of an excerpt.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from mmeval.media import decode
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.encode import png, wav
from mmeval.media.media import Media
from mmeval.media.parts import Part, media_part, text_part

MAX_SIDE = 4096
"""Maximum width and height of a picture in pixels."""
MAX_AUDIO_SECONDS = 300
AUDIO_RATE = 16_000
"""The sampling rate of a converted sound in Hz. The sound has one channel."""
MAX_DOCUMENT_CHARS = 20_000
MAX_DOCUMENT_PAGES = 8
"""The maximum number of pages of a document without text."""
PAGE_DPI = 96.0
_PLAIN_PICTURES = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/svg+xml",
)
"""Formats that every server accepts. SVG is included because it is always drawn before
it is sent."""
_PLAIN_SOUNDS = ("audio/wav", "audio/mpeg")
"""Formats that have a name in the OpenAI interface."""


def is_large(media: Media, limits: DecodeLimits) -> bool:
    """Decodes a picture. Returns True if it must be made smaller or converted."""
    side = max(decode.image(media, limits=limits).size)
    return side > MAX_SIDE or media.mime not in _PLAIN_PICTURES


def smaller(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """Returns the picture as PNG, at most ``MAX_SIDE`` pixels wide and high."""
    whole = decode.image(media, limits=limits)
    scale = min(1.0, MAX_SIDE / max(whole.size))
    size = (max(1, round(whole.width * scale)), max(1, round(whole.height * scale)))
    shown = whole if size == whole.size else whole.resize(size)
    return [media_part(png(shown))], f"a PNG of {size[0]} x {size[1]} pixels"


def is_long(media: Media, limits: DecodeLimits) -> bool:
    """Decodes the beginning of a sound. Returns True if it must be cut or converted."""
    return _sound(media, limits).more or media.mime not in _PLAIN_SOUNDS


def sound_excerpt(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """Returns the sound as WAV, at most its first ``MAX_AUDIO_SECONDS``."""
    start = _sound(media, limits)
    samples = start.samples
    if start.rate != AUDIO_RATE:
        import soxr

        samples = soxr.resample(samples, start.rate, AUDIO_RATE, quality="soxr_hq")
    samples = samples[: MAX_AUDIO_SECONDS * AUDIO_RATE]
    length = f"its first {MAX_AUDIO_SECONDS} seconds" if start.more else "the whole"
    sound = media_part(wav(samples, AUDIO_RATE))
    return [sound], f"{length} at {AUDIO_RATE:,} Hz"


def _sound(media: Media, limits: DecodeLimits) -> decode.SoundStart:
    return decode.sound_start(media, MAX_AUDIO_SECONDS, limits=limits)


def document_excerpt(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    """Returns the first ``MAX_DOCUMENT_CHARS`` characters of a document.

    For a PDF without text, the excerpt consists of pictures of the first pages. Raises
    the errors of ``mmeval.media.decode``.
    """
    words, more = decode.document_start(media, MAX_DOCUMENT_CHARS, limits=limits)
    if not words.strip() and media.mime == "application/pdf":
        limits = replace(limits, max_pages=max(limits.max_pages, 100_000))
        first = islice(
            decode.pages(media, dpi=PAGE_DPI, limits=limits), MAX_DOCUMENT_PAGES
        )
        shown = [media_part(png(page)) for page in first]
        return shown, f"{len(shown)} pictures of its pages, which contain no text,"
    count = f"{len(words):,} characters"
    about = f"its first {count}" if more else f"{count} of text"
    return [text_part(f"\n{words}\n")], about
