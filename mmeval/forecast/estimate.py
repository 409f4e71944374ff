"""Estimates: what a request will take and its answer bring, in tokens and bytes, before anybody has counted.

They are rough on purpose and given as ranges: tokenizers differ, and nobody knows how long an answer will be. The
constants stand here and in ``docs/costs.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from mmeval.content.encode import rgb_png
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, PartKind
from mmeval.records.request import Request

CHARS_A_TOKEN = (5.0, 3.0)
"""Bytes of UTF-8 text in a token, at most and at least: English has about four."""
DEFAULT_OUTPUT_TOKENS = 1024
"""The longest answer in words where nobody has set ``max_gen_toks``."""
SHORT_ANSWER = 1 / 8
"""A short answer is so much of the longest."""
STAND_IN_CHARS = 1000
"""The length of the answer that stands for one that has not come yet, in what is asked of it later."""


class Rate(NamedTuple):
    """Tokens of one medium: ``at_least`` and ``at_most`` for an item, or for as many bytes as ``of`` says."""

    at_least: float
    at_most: float
    of: int = 0


INPUT_TOKENS: Mapping[PartKind, Rate] = {
    "image": Rate(85, 1600),
    "audio": Rate(10, 64, of=32_000),
    "video": Rate(66, 1100, of=500_000),
    "document": Rate(100, 3000, of=100_000),
    "3d": Rate(0, 25_000, of=100_000),
}
"""Pictures have a price by the piece almost everywhere. For the others the bytes tell how long they are: a second of
sound in 8 to 32 kB, one of film in 125 to 500 kB, a page in 30 to 100 kB; a 3D model is text to most."""

MADE_TOKENS: Mapping[PartKind, Rate] = {
    "image": Rate(270, 4200),
    "audio": Rate(200, 1500),
    "video": Rate(1000, 20_000),
    "document": Rate(200, 4000),
    "3d": Rate(200, 20_000),
}
"""One medium that an answer brings."""

MADE_BYTES: Mapping[PartKind, int] = {
    "image": 1_500_000,
    "audio": 1_000_000,
    "video": 8_000_000,
    "document": 200_000,
    "3d": 2_000_000,
}
"""The room that it needs, generously."""


@dataclass(frozen=True, slots=True)
class Range:
    """Two ends between which something will probably lie."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.high * factor)


NOTHING = Range()


class Weight(NamedTuple):
    """What one call takes: tokens in and out, bytes of media that are sent, bytes that its answer needs on disk, and
    pictures that it makes."""

    tokens_in: Range
    tokens_out: Range
    media_bytes: int
    disk_bytes: float
    images: int


def weigh(request: Request) -> Weight:
    """Raises MissingDataError for a medium whose file has gone."""
    characters = 0
    low = high = 0.0
    sent = 0
    for message in request.messages:
        for part in message.content.parts:
            if part.media is None:
                raw = part.raw
                characters += len(raw) if raw.isascii() else len(raw.encode("utf-8", "surrogatepass"))
                continue
            sent += part.media.size
            rate = INPUT_TOKENS.get(part.kind)
            if rate is not None:
                amount = part.media.size / rate.of if rate.of else 1.0
                low, high = low + rate.at_least * amount, high + rate.at_most * amount
    words = Range(low + characters / CHARS_A_TOKEN[0], high + characters / CHARS_A_TOKEN[1])
    return Weight(words, tokens_out(request), sent, _answer_bytes(request), request.wants.count("image"))


def tokens_out(request: Request) -> Range:
    """What an answer in the wanted kinds may take: words up to ``max_gen_toks``, and one medium of each other kind."""
    longest = 0.0
    low = high = 0.0
    for kind in request.wants:
        rate = MADE_TOKENS.get(kind)
        if rate is None:
            longest = request.params.max_tokens or DEFAULT_OUTPUT_TOKENS
        else:
            low, high = low + rate.at_least, high + rate.at_most
    return Range(low + longest * SHORT_ANSWER, high + longest)


def stand_in(request: Request) -> Interleaved:
    """An answer of the wanted kinds without content, for what depends on one."""
    return _stand_in(request.wants, request.params.max_tokens or STAND_IN_CHARS)


@lru_cache
def _stand_in(wants: tuple[PartKind, ...], max_tokens: int) -> Interleaved:
    parts = []
    for kind in wants:
        size = MADE_BYTES.get(kind)
        if size is None:
            text = "x" * min(STAND_IN_CHARS, 4 * max_tokens)
            parts.append(Part("text", text=text, raw=text))
        else:
            parts.append(Part(kind, media=_stand_in_medium(kind, size)))
    return Interleaved(tuple(parts))


def _stand_in_medium(kind: PartKind, size: int) -> Media:
    """A medium that says it has so many bytes. A picture is one, as judged metrics look before they ask."""
    if kind != "image":
        return Media(data=b"", sha256=_EMPTY_SHA256, mime="application/octet-stream", size=size)
    grey = rgb_png(b"\x80" * (3 * _STAND_IN_SIDE**2), _STAND_IN_SIDE).read()
    return Media(data=grey, mime="image/png", size=size)


_STAND_IN_SIDE = 16
"""Pixels of a picture that stands in, each way."""
_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The SHA-256 of no bytes."""


def _answer_bytes(request: Request) -> float:
    """A line of the journal, and the media beside it."""
    words = 4.0 * (request.params.max_tokens or DEFAULT_OUTPUT_TOKENS)
    return 400 + sum(MADE_BYTES.get(kind, words) for kind in request.wants)
