"""Tasks in groups, slices in tasks: what belongs where, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mmeval.records.score import Key

Members = Mapping[str, Collection[str]]
"""The groups and tasks that each group names itself."""


def depths(names: Iterable[str], members: Members) -> dict[str, int]:
    """The depths of groups and tasks as shown: groups first, their members below."""
    names = list(names)
    inner = {name for group in members.values() for name in group}
    found: dict[str, int] = {}
    for name in (
        *(name for name in names if name in members and name not in inner),
        *names,
    ):
        _visit(name, 0, members, found)
    return found


def tasks_inside(name: str, members: Members) -> set[str]:
    """The tasks of a group, at any depth, or the task itself."""
    found: dict[str, int] = {}
    _visit(name, 0, members, found)
    return {one for one in found if one not in members}


def _visit(name: str, depth: int, members: Members, found: dict[str, int]) -> None:
    if name in found:
        return
    found[name] = depth
    for member in members.get(name, ()):
        _visit(member, depth + 1, members, found)


def slice_by_slice(keys: Sequence[Key], *, every: bool = False) -> list[Key]:
    """A task's numbers: the whole first, then each slice with all its metrics. Of
    several breakdowns only the first is kept, unless ``every`` one is wanted: others
    are often dozens of rows."""
    first = next((_breakdown(key) for key in keys if key.slice), "")
    kept = [key for key in keys if every or not key.slice or _breakdown(key) == first]
    order = {
        name: at
        for at, name in enumerate(dict.fromkeys(["", *(key.slice for key in kept)]))
    }
    return sorted(kept, key=lambda key: order[key.slice])


def _breakdown(key: Key) -> str:
    return key.slice.partition("=")[0]
