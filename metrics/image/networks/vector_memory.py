"""The embeddings that a process has computed, each once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Vector: TypeAlias = np.ndarray[Any, np.dtype[Any]]

T = TypeVar("T")

MOST = 2**14
"""The most embeddings that are kept, of some kilobytes each. The least recently used
are dropped first."""
_KEPT: OrderedDict[Hashable, Any] = OrderedDict()


def embedded_once(
    keys: Sequence[Hashable], compute: Callable[[Sequence[int]], Sequence[T]]
) -> list[T]:
    """Returns the result of ``compute`` for each key, kept for the process.

    ``compute`` is called once, with the places of distinct keys without a result, and
    not at all if there are none. An exception among its results is returned, but not
    kept. A key names everything that its result depends on, such as a model's
    fingerprint and a picture's digest.
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
