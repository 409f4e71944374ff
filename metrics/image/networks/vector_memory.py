"""The embeddings that a process has computed, so that each picture and text goes
through a network once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Vector: TypeAlias = np.ndarray[Any, np.dtype[Any]]

T = TypeVar("T")

MOST = 2**14
"""The most embeddings that are kept, of some kilobytes each; those that were not used
for longest go first."""
_KEPT: OrderedDict[Hashable, Any] = OrderedDict()


def embedded_once(
    keys: Sequence[Hashable], compute: Callable[[Sequence[int]], Sequence[T]]
) -> list[T]:
    """What ``compute`` gives for each key, kept for the process.

    ``compute`` is called once, with the places of the keys that have no result yet,
    without duplicates; not at all when there are none. An exception among its results
    is handed on, and not kept. A key names all that its result depends on: a model's
    fingerprint, a picture's digest.
    """
    known: dict[Hashable, T] = {}
    for key in keys:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            known[key] = _KEPT[key]
    places: dict[Hashable, int] = {}
    for at, key in enumerate(keys):
        if key not in known:
            places.setdefault(key, at)
    if places:
        wanted = list(places.values())
        for at, found in zip(wanted, compute(wanted), strict=True):
            known[keys[at]] = found
            if not isinstance(found, Exception):
                _KEPT[keys[at]] = found
    while len(_KEPT) > MOST:
        _KEPT.popitem(last=False)
    return [known[key] for key in keys]
