"""What two numbers must have in common to compare: the task's version and data, how it was asked, the definition of the
metric, and who judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_DEFINITION = ("version", "switches", "aggregation")
"""What defines a metric, in the words of a results file."""


@dataclass(frozen=True)
class Making:
    """How a number of a task was made. ``metric`` is its definition as a results file says it, ``judges`` who judged,
    as pairs of a role and who served it; empty for a metric without a judge."""

    task: str
    version: str | None
    comparable: bool
    protocol: str | None
    metric: Mapping[str, Any] = field(default_factory=dict)
    judges: frozenset[tuple[str, str]] = frozenset()


def made(document: Mapping[str, Any], task: str, output: str) -> Making:
    """How a number was made, by the content of a results file. ``output`` is the number's name."""
    ours: Mapping[str, Any] = document.get("mmeval", {})
    metrics: Mapping[str, Mapping[str, Any]] = ours.get("metrics", {}).get(task, {})
    entry = next((m for name, m in metrics.items() if output in m.get("outputs", (name,))), {})
    judged = entry.get("judged", task in ours.get("judges", {}))
    return Making(
        task=task,
        version=document.get("versions", {}).get(task),
        comparable=task not in ours.get("not_comparable", ()),
        protocol=ours.get("protocols", {}).get(task),
        metric={name: entry.get(name) for name in _DEFINITION} if entry else {},
        judges=served(ours.get("judges", {}).get(task, ())) if judged else frozenset(),
    )


def unlike(first: Mapping[str, Any], other: Mapping[str, Any], task: str, output: str) -> str:
    """Why the number of one results file does not compare with that of another; empty where it does. A derived one was
    made as its pieces were."""
    metrics: Mapping[str, Mapping[str, Any]] = other.get("mmeval", {}).get("metrics", {}).get(task, {})
    entry = next((m for name, m in metrics.items() if output in m.get("outputs", (name,))), {})
    own = difference(made(first, task, output), made(other, task, output))
    pieces = (name for name in entry.get("pieces", ()) if name != output)
    return own or next(filter(None, (unlike(first, other, task, name) for name in pieces)), "")


def difference(before: Making, now: Making) -> str:
    """Why a number does not compare with an earlier one; empty where it does."""
    if before.version != now.version:
        return f"{now.task} had version {before.version}, now it has {now.version}"
    if before.comparable != now.comparable:
        return "one of the two was made on bundled samples, the other on the benchmark's data"
    if before.protocol != now.protocol:
        return f"{now.task} was asked by the protocol {before.protocol}, now by {now.protocol}"
    changed = [name for name, value in now.metric.items() if _as_scored(before.metric.get(name)) != _as_scored(value)]
    if changed:
        return f"the metric had another {' and '.join(changed)}"
    return "it was judged by another judge" if before.judges != now.judges else ""


def _as_scored(value: Any) -> Any:
    """A definition as scores depend on it: a model is its files, whatever it is called."""
    if not isinstance(value, Mapping):
        return value
    return value.get("fingerprint") or {key: _as_scored(item) for key, item in value.items()}


def served(rows: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """Who judged: each role with the model that served it, or that was asked for."""
    return frozenset((str(row.get("role")), str(row.get("served") or row.get("asked"))) for row in rows)
