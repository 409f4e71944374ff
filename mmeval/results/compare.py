"""What two numbers must have in common to compare. The task's version and data, its
protocol, the definition of the metric, and its judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from mmeval.system.wording import listed

Aspect = Literal[
    "version", "data", "protocol", "definition", "judge", "judge parameters"
]
Plans = Callable[[str], tuple[Mapping[str, Any], Mapping[str, Any]]]
"""The definitions of the score sets of a task in both runs, empty where a run has
none."""

JUDGE_PARAMETERS: Final = "judge parameters"
_OF_A_JUDGE: tuple[Aspect, Aspect] = ("judge", JUDGE_PARAMETERS)
_NOT_WHO_JUDGES = ("model", "base_url", "backend")
"""What an identity says besides who judges: the name, which is compared as it was
served, and where the model runs."""
_PARAMETERS = frozenset(
    (
        "chat_template",
        "chat_template_args",
        "convert",
        "dtype",
        "endpoint",
        "image_detail",
        "image_response_format",
        "max_length",
        "max_tokens_field",
        "outputs",
        "response_format",
        "send_seed",
    )
)
"""What an identity says of how a model is asked, and not of which one it is."""


class Difference(NamedTuple):
    """One way in which two numbers were made differently, and the reason in words.
    ``before`` and ``now`` hold what differs of a definition (the version, the
    aggregation, switches by name) and of who judges and how."""

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
    plans: Plans = lambda _task: ({}, {}),
) -> str:
    """Why a number of a results file does not compare with a later file's; else empty.
    The files are given as their content, the number by its tasks and its name. A
    derived number compares if all of its pieces do. The aspects in ``across`` may
    differ; that of the judge is also that of its parameters."""
    allowed = {*across, *(_OF_A_JUDGE if "judge" in across else ())}
    for task in tasks:
        for one in differences(first, other, task, output, plans):
            if one.aspect not in allowed:
                return one.reason
    return ""


def differences(
    first: Mapping[str, Any],
    other: Mapping[str, Any],
    task: str,
    output: str,
    plans: Plans = lambda _task: ({}, {}),
) -> Iterator[Difference]:
    """All ways in which a task's number was made differently, its pieces included.
    Without ``plans`` a judge is known by its name alone."""
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
            "definition", f"the metric differs in {listed(changed, 3)}", *sides
        )
    judged_now = judges_of(now, task, new)
    is_named_alike = judged_now == (judges_of(before, task, old) or set())
    if judged_now is not None:
        if not is_named_alike:
            yield Difference("judge", "it was judged by another judge")
        for one in _judged_differently(plans(task), _name_of(now, task, output)):
            if is_named_alike or one.aspect != "judge":
                yield one
    for piece in new.get("pieces", ()):
        if piece != output:
            yield from differences(first, other, task, piece, plans)


def _judged_differently(
    plans: tuple[Mapping[str, Any], Mapping[str, Any]], metric: str
) -> Iterator[Difference]:
    """How judges of one name differ all the same, as the score sets know them."""
    sides = [judging_roles(plan, metric) for plan in plans]
    if not all(sides):
        return
    for which, aspect in enumerate(_OF_A_JUDGE):
        before, now = (
            {
                f"{role} {name}" if role != "judge" else name: value
                for role, known in side.items()
                for name, value in known[which].items()
            }
            for side in sides
        )
        changed = [
            name for name in {**before, **now} if before.get(name) != now.get(name)
        ]
        if not changed:
            continue
        reason = (
            "the judge of this name is another one"
            if aspect == "judge"
            else "its judge was asked in another way"
        )
        yield Difference(
            aspect,
            f"{reason}: {listed(changed, 3)}",
            {name: before.get(name) for name in changed},
            {name: now.get(name) for name in changed},
        )


def judging_roles(
    plan: Mapping[str, Any], metric: str
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """By role of a metric: which model judges, besides its name, and its
    parameters."""
    found = {}
    for entry in plan.get("metrics", ()):
        if entry.get("metric") != metric:
            continue
        for role, identity in entry.get("roles", {}).items():
            model, parameters = {}, dict(plan.get("role_params", {}).get(role, {}))
            for name, value in identity.items():
                if name in _PARAMETERS:
                    parameters[name] = value
                elif name not in _NOT_WHO_JUDGES and value not in ("", None):
                    model[name] = _without_address(value)
            found[role] = (model, parameters)
    return found


def _without_address(value: Any) -> Any:
    """What an agent says of the roles that it asks, without where they run."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: _without_address(item)
        for name, item in value.items()
        if name != "base_url"
    }


def _name_of(ours: Mapping[str, Any], task: str, output: str) -> str:
    """The name of the metric that gives a number."""
    metrics: Mapping[str, Mapping[str, Any]] = ours.get("metrics", {}).get(task, {})
    for name, metric in metrics.items():
        if output in metric.get("outputs", (name,)):
            return name
    return ""


def metric_of(ours: Mapping[str, Any], task: str, output: str) -> Mapping[str, Any]:
    """The metric of a number, as the results file defines it."""
    found: Mapping[str, Any] = (
        ours.get("metrics", {}).get(task, {}).get(_name_of(ours, task, output), {})
    )
    return found


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
