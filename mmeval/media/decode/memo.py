"""Caches decoded results with their medium.

Several metrics score the same trial one after the other, and all of them get the same
cached result. If a result can be changed, each metric gets a copy, so that no score
depends on the order of metrics. Errors are not cached.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from mmeval.media.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.media.media import Media

MAX_KEPT_BYTES = 2**26
"""The maximum size of a cached result. A larger result is decoded at each call.

A trial may have many media, and memory is scarcer than time.
"""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol[T_co]):
    """The type of a function that decodes a complete medium."""

    def __call__(
        self, media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS
    ) -> T_co: ...


def decoded_once(
    *,
    size: Callable[[T], int],
    copy: Callable[[T], T] | None = None,
) -> Callable[[Decoder[T]], Decoder[T]]:
    """Caches the results of a decoder with the medium, one for each set of limits.

    ``size`` returns the size of a result in bytes. ``copy`` copies a result that can be
    changed.
    """

    def caching(decoder: Decoder[T]) -> Decoder[T]:
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

    return caching
