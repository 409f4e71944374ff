"""What two numbers must have in common to compare.
The task's version and data, its protocol, the definition of the metric, and its judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_DEFINITION = ("version", "switches", "aggregation")
"""What defines a metric, as a results file names it."""


def unlike(first: Mapping[str, Any], other: Mapping[str, Any], tasks: Iterable[str], output: str) -> str:
    """Why a number of a results file does not compare with a later file's; else empty.
    The files are given as their content, the number by its tasks and its name. A derived number compares if all of
    its pieces do."""
    return next(filter(None, (_difference(first, other, task, output) for task in tasks)), "")


def _difference(first: Mapping[str, Any], other: Mapping[str, Any], task: str, output: str) -> str:
    before, now = first.get("mmeval", {}), other.get("mmeval", {})
    versions = [document.get("versions", {}).get(task) for document in (first, other)]
    if versions[0] != versions[1]:
        return f"{task} had version {versions[0]}, now it has {versions[1]}"
    if (task in before.get("not_comparable", ())) != (task in now.get("not_comparable", ())):
        return "one of the two was made on bundled samples, or by a stand-in of a metric, the other was not"
    protocols = [ours.get("protocols", {}).get(task) for ours in (before, now)]
    if protocols[0] != protocols[1]:
        return f"{task} was asked by the protocol {protocols[0]}, now by {protocols[1]}"
    old, new = _metric(before, task, output), _metric(now, task, output)
    changed = [name for name in _DEFINITION if new and _as_scored(old.get(name)) != _as_scored(new.get(name))]
    if changed:
        return f"the metric had another {' and '.join(changed)}"
    judged_now = _judges(now, task, new)
    if judged_now is not None and judged_now != (_judges(before, task, old) or set()):
        return "it was judged by another judge"
    pieces = (name for name in new.get("pieces", ()) if name != output)
    return next(filter(None, (_difference(first, other, task, piece) for piece in pieces)), "")


def _metric(ours: Mapping[str, Any], task: str, output: str) -> Mapping[str, Any]:
    """The metric of a number, as the results file defines it."""
    metrics: Mapping[str, Mapping[str, Any]] = ours.get("metrics", {}).get(task, {})
    return next((metric for name, metric in metrics.items() if output in metric.get("outputs", (name,))), {})


def _judges(ours: Mapping[str, Any], task: str, metric: Mapping[str, Any]) -> set[tuple[str, str]] | None:
    """Each judging role with the model that served or was asked for; None: no judge."""
    rows = ours.get("judges", {})
    if not metric.get("judged", task in rows):
        return None
    return {(str(row.get("role")), str(row.get("served") or row.get("asked"))) for row in rows.get(task, ())}


def _as_scored(value: Any) -> Any:
    """A definition as scores depend on it: a model is its files, whatever its name."""
    if not isinstance(value, Mapping):
        return value
    return value.get("fingerprint") or {key: _as_scored(item) for key, item in value.items()}
