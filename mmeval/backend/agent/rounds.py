"""Makes the items of a plan in rounds.

A round contains all remaining items that need only items from earlier rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mmeval.media.parts import Part
from mmeval.program.calls import Call, Program, Reply, ask_all


class Rounds(NamedTuple):
    """The items of each round, and the items that can never be made."""

    order: list[list[int]]
    never: list[int]


def rounds_of(needs: Sequence[Sequence[int] | None]) -> Rounds:
    """Sorts items into rounds.

    ``needs`` lists, for each item, the items that it needs. An entry that is not an
    item is None.

    An item can never be made if it needs itself, an entry that is not an item, or an
    item that can never be made.

    >>> rounds_of([None, [], [1], [0]])
    Rounds(order=[[1], [2]], never=[3])
    """
    needs_by_item: dict[int, set[int]] = {}
    for item, need in enumerate(needs):
        if need is not None:
            needs_by_item[item] = set(need)
    order: list[list[int]] = []
    while True:
        ready = [item for item, open_needs in needs_by_item.items() if not open_needs]
        if not ready:
            return Rounds(order, list(needs_by_item))
        order.append(ready)
        for item in ready:
            del needs_by_item[item]
        for open_needs in needs_by_item.values():
            open_needs.difference_update(ready)


def in_rounds(
    order: Sequence[Sequence[int]],
    call: Callable[[int, Mapping[int, Part]], Call | None],
    read: Callable[[int, Reply], Part | None],
) -> Program[dict[int, Part]]:
    """Makes items in rounds.

    ``call`` returns the call for an item, given the parts made for the earlier items.
    ``read`` returns the part in a reply. If either function returns None for an item,
    the result does not contain the item.
    """
    parts: dict[int, Part] = {}
    for items in order:
        calls: dict[int, Call] = {}
        for item in items:
            item_call = call(item, parts)
            if item_call is not None:
                calls[item] = item_call
        if not calls:
            continue
        replies = yield from ask_all(list(calls.values()))
        for item, reply in zip(calls, replies, strict=True):
            part = read(item, reply)
            if part is not None:
                parts[item] = part
    return parts
