"""Keeps decoded results with their medium, so that each medium is decoded once.

Several metrics score the same trial one after the other. The others get what the first
of them has decoded, as a copy where it could be changed, so that no score depends on
which metric ran before. An error is never kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.media import Media

MAX_KEPT_BYTES = 2**26
"""Of one result. A larger one is decoded at each call: a trial may hold many media, and
time is cheaper than memory."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol[T_co]):
    """Decodes the whole of a medium."""

    def __call__(
        self, media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS
    ) -> T_co: ...


def decoded_once(
    *,
    size: Callable[[T], int],
    copy: Callable[[T], T] | None = None,
) -> Callable[[Decoder[T]], Decoder[T]]:
    """Let a decoder keep its results on the medium, one for each set of limits.

    ``size`` gives the bytes of a result; ``copy`` makes what is returned, for results
    that can be changed.
    """

    def remembering(decoder: Decoder[T]) -> Decoder[T]:
        @functools.wraps(decoder)
        def decoded(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> T:
            key = (decoder, limits)
            if key in media.memo:
                result = cast(T, media.memo[key])
            else:
                result = decoder(media, limits=limits)
                if size(result) > MAX_KEPT_BYTES:
                    return result
                media.memo[key] = result
            return result if copy is None else copy(result)

        return decoded

    return remembering
