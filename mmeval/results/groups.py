"""Orders results: groups with their tasks, and tasks with their slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mmeval.records.score import Key

Members = Mapping[str, Collection[str]]
"""The direct members of each group: groups and tasks."""


def depths(names: Iterable[str], members: Members) -> dict[str, int]:
    """Returns the depth of each group and task in the order of display: groups first,
    each followed by its members."""
    names = list(names)
    inner = set().union(*members.values())
    outermost = [name for name in names if name in members and name not in inner]
    depth_of: dict[str, int] = {}
    for name in [*outermost, *names]:
        _visit(name, 0, members, depth_of)
    return depth_of


def tasks_inside(name: str, members: Members) -> set[str]:
    """Returns the tasks of a group, at any depth, or the task itself."""
    depth_of: dict[str, int] = {}
    _visit(name, 0, members, depth_of)
    return depth_of.keys() - members.keys()


def _visit(
    name: str,
    depth: int,
    members: Members,
    depth_of: dict[str, int],
) -> None:
    if name in depth_of:
        return
    depth_of[name] = depth
    for member in members.get(name, ()):
        _visit(member, depth + 1, members, depth_of)


def slice_by_slice(keys: Sequence[Key], *, every: bool = False) -> list[Key]:
    """Returns the numbers of a task: first those over all samples, then those of each
    slice.

    Only the first of several breakdowns is kept, since others often have dozens of
    rows; ``every`` keeps all.
    """
    first = ""
    by_slice: dict[str, list[Key]] = {"": []}
    for key in keys:
        breakdown = key.slice.partition("=")[0]
        first = first or breakdown
        if every or breakdown in ("", first):
            by_slice.setdefault(key.slice, []).append(key)
    return [key for slice_keys in by_slice.values() for key in slice_keys]
