"""Remembers the embeddings that a process has computed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Vector: TypeAlias = np.ndarray[Any, np.dtype[Any]]

T = TypeVar("T")

MOST = 2**14
"""Maximum number of embeddings that are kept. An embedding needs some kilobytes. The
least recently used embeddings are dropped first."""
_KEPT: OrderedDict[Hashable, Any] = OrderedDict()


def embedded_once(
    keys: Sequence[Hashable], compute: Callable[[Sequence[int]], Sequence[T]]
) -> list[T]:
    """Returns the result of ``compute`` for each key, and keeps it for the process.

    ``compute`` is called once, with the positions of the distinct keys that have no
    result yet. If all keys have a result, ``compute`` is not called. An exception among
    the results is returned, but not kept. A key must contain everything on which the
    result depends, such as a model's fingerprint and a picture's digest.
    """
    known: dict[Hashable, T] = {}
    for key in keys:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            known[key] = _KEPT[key]
    places: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        if key not in known:
            places.setdefault(key, place)
    if places:
        places_to_compute = list(places.values())
        for place, result in zip(
            places_to_compute, compute(places_to_compute), strict=True
        ):
            known[keys[place]] = result
            if not isinstance(result, Exception):
                _KEPT[keys[place]] = result
    while len(_KEPT) > MOST:
        _KEPT.popitem(last=False)
    return [known[key] for key in keys]
