"""What two numbers must have in common to compare. The task's version and data, its
protocol, the definition of the metric, and its judges."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from mmeval.wording import some

Aspect = Literal["version", "data", "protocol", "definition", "judge"]


class Difference(NamedTuple):
    """One way in which two numbers were made differently, and the reason in words. Of a
    definition ``before`` and ``now`` hold what differs: the version, the aggregation,
    switches by name."""

    aspect: Aspect
    reason: str
    before: Mapping[str, Any] = {}
    now: Mapping[str, Any] = {}


def unlike(
    first: Mapping[str, Any],
    other: Mapping[str, Any],
    tasks: Iterable[str],
    output: str,
    *,
    across: Collection[str] = (),
) -> str:
    """Why a number of a results file does not compare with a later file's; else empty.
    The files are given as their content, the number by its tasks and its name. A
    derived number compares if all of its pieces do. The aspects in ``across`` may
    differ."""
    found = (one for task in tasks for one in differences(first, other, task, output))
    return next((one.reason for one in found if one.aspect not in across), "")


def differences(
    first: Mapping[str, Any], other: Mapping[str, Any], task: str, output: str
) -> Iterator[Difference]:
    """All ways in which a task's number was made differently, its pieces included."""
    before, now = first.get("mmeval", {}), other.get("mmeval", {})
    versions = [document.get("versions", {}).get(task) for document in (first, other)]
    if versions[0] != versions[1]:
        yield Difference(
            "version", f"{task} had version {versions[0]}, now it has {versions[1]}"
        )
    if (task in before.get("not_comparable", ())) != (
        task in now.get("not_comparable", ())
    ):
        yield Difference(
            "data",
            "one of the two was made on bundled samples, or by a stand-in of a "
            "metric, the other was not",
        )
    if (task in before.get("uses_reference", ())) != (
        task in now.get("uses_reference", ())
    ):
        yield Difference(
            "data",
            f"one of the two used reference information of {task}, the other did not",
        )
    protocols = [ours.get("protocols", {}).get(task) for ours in (before, now)]
    if protocols[0] != protocols[1]:
        yield Difference(
            "protocol",
            f"{task} was asked by the protocol {protocols[0]}, now by {protocols[1]}",
        )
    refusals = [ours.get("refusals", {}).get(task, "scored") for ours in (before, now)]
    if refusals[0] != refusals[1]:
        yield Difference(
            "definition",
            f"refused answers of {task} were {refusals[0]}, now they are {refusals[1]}",
            {"refusals": refusals[0]},
            {"refusals": refusals[1]},
        )
    old, new = metric_of(before, task, output), metric_of(now, task, output)
    was, has = _definition(old), _definition(new)
    if changed := [
        name for name in {**was, **has} if new and was.get(name) != has.get(name)
    ]:
        sides = [{name: side.get(name) for name in changed} for side in (was, has)]
        yield Difference(
            "definition", f"the metric differs in {some(changed, 3)}", *sides
        )
    judged_now = judges_of(now, task, new)
    if judged_now is not None and judged_now != (judges_of(before, task, old) or set()):
        yield Difference("judge", "it was judged by another judge")
    for piece in new.get("pieces", ()):
        if piece != output:
            yield from differences(first, other, task, piece)


def metric_of(ours: Mapping[str, Any], task: str, output: str) -> Mapping[str, Any]:
    """The metric of a number, as the results file defines it."""
    metrics: Mapping[str, Mapping[str, Any]] = ours.get("metrics", {}).get(task, {})
    return next(
        (
            metric
            for name, metric in metrics.items()
            if output in metric.get("outputs", (name,))
        ),
        {},
    )


def range_of(metric: Mapping[str, Any]) -> tuple[float, float]:
    """The range that the results file states for a metric; without ends where it has
    none."""
    spread = metric.get("range")
    return (-math.inf, math.inf) if spread is None else (spread[0], spread[1])


def judges_of(
    ours: Mapping[str, Any], task: str, metric: Mapping[str, Any]
) -> set[tuple[str, str]] | None:
    """Of a metric's task, as ``judges_in``; None: no judge."""
    return (
        judges_in(ours, (task,))
        if metric.get("judged", task in ours.get("judges", {}))
        else None
    )


def judges_in(ours: Mapping[str, Any], tasks: Iterable[str]) -> set[tuple[str, str]]:
    """Each judging role of these tasks with the model that served or was asked for."""
    rows = (row for task in tasks for row in ours.get("judges", {}).get(task, ()))
    return {
        (str(row.get("role")), str(row.get("served") or row.get("asked")))
        for row in rows
    }


def _definition(metric: Mapping[str, Any]) -> dict[str, Any]:
    """What defines a metric, as a results file has it, its switches by name."""
    switches = _as_scored(metric.get("switches") or {})
    return {
        **switches,
        **{name: metric[name] for name in ("version", "aggregation") if name in metric},
    }


def _as_scored(value: Any) -> Any:
    """A definition as scores depend on it: a model is its files, whatever its name."""
    if not isinstance(value, Mapping):
        return value
    return value.get("fingerprint") or {
        key: _as_scored(item) for key, item in value.items()
    }
