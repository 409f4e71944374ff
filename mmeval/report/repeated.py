"""Numbers that say what another row says: of the only piece of a derived score, and of a slice of a task of which there
is no number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from mmeval.records.score import Key, Result, is_of_nothing

Pieces = Callable[[str, str], Collection[str]]
"""The outputs of which one number of a task is made, by task and number; empty for one that is not derived."""


class _Numbers(NamedTuple):
    value: float | None
    n: int
    scored: int
    failed: int
    unscored: int
    unavailable: int
    unsupported: int
    inapplicable: int


def _numbers(result: Result) -> _Numbers:
    return _Numbers(*(getattr(result, name) for name in _Numbers._fields))


def repeated(results: Iterable[Result], pieces_of: Pieces) -> set[Key]:
    """The numbers that tables leave out: of a piece that alone makes another number, equal to its own; of a slice,
    where the number is unavailable in all of its task, or there is nothing to score. Files of results keep them."""
    known = {Key.of(result): result for result in results}
    found = {key for key in known if key.slice and is_none(known.get(key._replace(slice="")))}
    for key, result in known.items():
        pieces = list(pieces_of(key.task, key.metric))
        if len(pieces) != 1:
            continue
        piece = key._replace(metric=pieces[0])
        if piece in known and piece != key and _numbers(known[piece]) == _numbers(result):
            found.add(piece)
    return found


def is_none(whole: Result | None) -> bool:
    """Whether a number says of a whole task only that it is none: no trial has it, and none has lost it."""
    if whole is None or whole.scored or whole.unscored:
        return False
    return whole.unavailable > 0 or is_of_nothing(whole)


def is_unavailable(whole: Result | None) -> bool:
    """Whether a number was known before the run to be none: not one trial has it, and none has lost it."""
    return whole is not None and whole.unavailable > 0 and is_none(whole)
