"""Items of a plan, made in rounds: each at the same time as all others whose needs are
met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mmeval.media.parts import Part
from mmeval.program.calls import Call, Program, Reply, ask_all


class Rounds(NamedTuple):
    """The items by rounds, and those that can never be made."""

    order: list[list[int]]
    never: list[int]


def rounds_of(needs: Sequence[Sequence[int] | None]) -> Rounds:
    """The rounds of items, from the items that each one needs; None stands in the place
    of what is not an item.

    An item that needs itself, one that is not an item, or one that can never be made
    can never be made either.

    >>> rounds_of([None, [], [1], [0]])
    Rounds(order=[[1], [2]], never=[3])
    """
    left: dict[int, set[int]] = {}
    for item, need in enumerate(needs):
        if need is not None:
            left[item] = set(need)
    order: list[list[int]] = []
    while True:
        ready = [item for item, open_needs in left.items() if not open_needs]
        if not ready:
            return Rounds(order, list(left))
        order.append(ready)
        for item in ready:
            del left[item]
        for open_needs in left.values():
            open_needs.difference_update(ready)


def in_rounds(
    order: Sequence[Sequence[int]],
    call: Callable[[int, Mapping[int, Part]], Call | None],
    read: Callable[[int, Reply], Part | None],
) -> Program[dict[int, Part]]:
    """Make items: ``call`` gives the call for one, from what was made before it,
    ``read`` what a reply is worth.

    An item is missing for which either gives None.
    """
    made: dict[int, Part] = {}
    for items in order:
        calls: dict[int, Call] = {}
        for item in items:
            asked = call(item, made)
            if asked is not None:
                calls[item] = asked
        if not calls:
            continue
        replies = yield from ask_all(list(calls.values()))
        for item, reply in zip(calls, replies, strict=True):
            part = read(item, reply)
            if part is not None:
                made[item] = part
    return made
