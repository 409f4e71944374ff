"""Estimates the tokens and bytes of a request and its answer.

Estimates are rough ranges, because tokenizers differ and the length of an answer is
unknown. ``docs/costs.md`` lists the constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from mmeval.media.encode import png
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.records.request import Request

CHARS_A_TOKEN = (5.0, 3.0)
"""Maximum and minimum bytes of UTF-8 text per token. For English, it is about four."""
DEFAULT_OUTPUT_TOKENS = 1024
"""Maximum length of a text answer in tokens if ``max_gen_toks`` is not set."""
SHORT_ANSWER = 1 / 8
"""Length of a short answer, as a share of the maximum."""
STAND_IN_CHARS = 1000
"""Maximum length in characters of a stand-in for a text answer."""


class Rate(NamedTuple):
    """Minimum and maximum tokens of a medium, per item or per ``of`` bytes."""

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
"""Tokens of a medium in a request.

Almost all providers count a picture as one item. The length of other media is estimated
from their size: a second of audio has 8 to 32 kB, a second of video 125 to 500 kB, and
a page 30 to 100 kB. Most models read a 3D file as text.
"""

MADE_TOKENS: Mapping[PartKind, Rate] = {
    "image": Rate(270, 4200),
    "audio": Rate(200, 1500),
    "video": Rate(1000, 20_000),
    "document": Rate(200, 4000),
    "3d": Rate(200, 20_000),
}
"""Tokens of one medium in an answer."""

MADE_BYTES: Mapping[PartKind, int] = {
    "image": 1_500_000,
    "audio": 1_000_000,
    "video": 8_000_000,
    "document": 200_000,
    "3d": 2_000_000,
}
"""A high estimate of the bytes of one medium in an answer."""


_STAND_IN_SIDE = 16
"""Width and height in pixels of a stand-in for a picture."""
_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The SHA-256 of empty content."""


@dataclass(frozen=True, slots=True)
class TokenRange:
    """A probable minimum and maximum, of tokens or dollars."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: TokenRange) -> TokenRange:
        return TokenRange(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> TokenRange:
        return TokenRange(self.low * factor, self.high * factor)


NOTHING = TokenRange()


@dataclass
class RoleLoad:
    """The calls to one role in a task, with the sizes of the requests and answers.

    ``calls`` excludes ``kept`` calls, whose answers are already in the run folder, and
    ``equal`` calls, which share the answer of another call. ``estimated`` is True if
    not all samples were counted, or if a metric had to assume an answer.
    """

    calls: float = 0
    kept: float = 0
    equal: float = 0
    tokens_in: TokenRange = NOTHING
    tokens_out: TokenRange = NOTHING
    media_bytes: float = 0
    disk_bytes: float = 0
    images: float = 0
    videos: float = 0
    redraws: float = 0
    """Maximum number of further calls that are made if replies cannot be read. The
    upper bounds of tokens include these calls, but ``calls`` does not."""
    estimated: bool = False

    def merge(self, other: RoleLoad, factor: float = 1.0) -> None:
        """Adds another load, multiplied by ``factor``."""
        self.calls += other.calls * factor
        self.kept += other.kept * factor
        self.equal += other.equal * factor
        self.tokens_in += other.tokens_in.times(factor)
        self.tokens_out += other.tokens_out.times(factor)
        self.media_bytes += other.media_bytes * factor
        self.disk_bytes += other.disk_bytes * factor
        self.images += other.images * factor
        self.videos += other.videos * factor
        self.redraws += other.redraws * factor
        self.estimated |= other.estimated or factor != 1.0


def weigh(request: Request, most_draws: int = 1) -> RoleLoad:
    """Estimates the load of one call.

    The call is sent up to ``most_draws`` times if its replies cannot be read. Raises
    MissingDataError if the file of a medium is missing.
    """
    characters = 0
    low = high = 0.0
    sent = 0
    for message in request.messages:
        for part in message.content.parts:
            if part.media is None:
                characters += len(part.raw.encode("utf-8", "surrogatepass"))
                continue
            sent += part.media.size
            rate = INPUT_TOKENS.get(part.kind)
            if rate is not None:
                amount = part.media.size / rate.of if rate.of else 1.0
                low += rate.at_least * amount
                high += rate.at_most * amount
    most_in_a_token, least_in_a_token = CHARS_A_TOKEN
    low += characters / most_in_a_token
    high += characters / least_in_a_token
    text_bytes = 4.0 * (request.params.max_tokens or DEFAULT_OUTPUT_TOKENS)
    # a line of the journal and its media
    on_disk = 400 + sum(MADE_BYTES.get(kind, text_bytes) for kind in request.wants)
    out = tokens_out(request)
    return RoleLoad(
        tokens_in=TokenRange(low, high * most_draws),
        tokens_out=TokenRange(out.low, out.high * most_draws),
        redraws=most_draws - 1,
        media_bytes=sent,
        disk_bytes=on_disk,
        images=request.wants.count("image"),
        videos=request.wants.count("video"),
    )


def tokens_out(request: Request) -> TokenRange:
    """Estimates the tokens of an answer.

    The answer is assumed to contain at most ``max_gen_toks`` of text, and one medium of
    each other kind.
    """
    longest = 0.0
    low = high = 0.0
    for kind in request.wants:
        rate = MADE_TOKENS.get(kind)
        if rate is None:
            longest = request.params.max_tokens or DEFAULT_OUTPUT_TOKENS
        else:
            low += rate.at_least
            high += rate.at_most
    return TokenRange(low + longest * SHORT_ANSWER, high + longest)


def stand_in(request: Request) -> Interleaved:
    """Returns a placeholder answer with a part of each requested kind.

    The size of the answer matters, because later requests may contain it.
    """
    return _stand_in(request.wants, request.params.max_tokens or STAND_IN_CHARS)


@lru_cache
def _stand_in(wants: tuple[PartKind, ...], max_tokens: int) -> Interleaved:
    parts = []
    for kind in wants:
        size = MADE_BYTES.get(kind)
        if size is None:
            text = "x" * min(STAND_IN_CHARS, 4 * max_tokens)
            parts.append(Part("text", text=text, raw=text))
            continue
        # other media only state a size, but metrics must be able to decode a picture
        if kind == "image":
            from PIL import Image

            side = _STAND_IN_SIDE
            data = png(Image.new("RGB", (side, side), "grey")).read()
            media = Media(data=data, mime="image/png", size=size)
        else:
            mime = "application/octet-stream"
            media = Media(data=b"", sha256=_EMPTY_SHA256, mime=mime, size=size)
        parts.append(Part(kind, media=media))
    return Interleaved(tuple(parts))
