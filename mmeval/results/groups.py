"""Tasks in groups, slices in tasks: what belongs where, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mmeval.records.score import Key

Members = Mapping[str, Collection[str]]
"""The groups and tasks that each group names itself."""


def depths(names: Iterable[str], members: Members) -> dict[str, int]:
    """The depths of groups and tasks as shown: groups first, their members below."""
    names = list(names)
    inner = set().union(*members.values())
    outermost = [name for name in names if name in members and name not in inner]
    found: dict[str, int] = {}
    for name in [*outermost, *names]:
        _visit(name, 0, members, found)
    return found


def tasks_inside(name: str, members: Members) -> set[str]:
    """The tasks of a group, at any depth, or the task itself."""
    found: dict[str, int] = {}
    _visit(name, 0, members, found)
    return found.keys() - members.keys()


def _visit(
    name: str,
    depth: int,
    members: Members,
    found: dict[str, int],
) -> None:
    if name in found:
        return
    found[name] = depth
    for member in members.get(name, ()):
        _visit(member, depth + 1, members, found)


def slice_by_slice(keys: Sequence[Key], *, every: bool = False) -> list[Key]:
    """A task's numbers: the whole first, then each slice with all its metrics. Of
    several breakdowns only the first is kept, unless ``every`` one is wanted: others
    are often dozens of rows."""
    first = ""
    by_slice: dict[str, list[Key]] = {"": []}
    for key in keys:
        breakdown = key.slice.partition("=")[0]
        first = first or breakdown
        if every or breakdown in ("", first):
            by_slice.setdefault(key.slice, []).append(key)
    return [key for own in by_slice.values() for key in own]
