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
    allowed = set(across)
    if "judge" in allowed:
        allowed.add(JUDGE_PARAMETERS)
    for task in tasks:
        for difference in differences(first, other, task, output, plans):
            if difference.aspect not in allowed:
                return difference.reason
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
    was: Any = first.get("versions", {}).get(task)
    has: Any = other.get("versions", {}).get(task)
    if was != has:
        reason = f"{task} had version {was}, now it has {has}"
        yield Difference("version", reason)

    was = task in before.get("not_comparable", ())
    has = task in now.get("not_comparable", ())
    if was != has:
        reason = (
            "one of the two was made on bundled samples, or by a stand-in of a "
            "metric, the other was not"
        )
        yield Difference("data", reason)
    was = task in before.get("uses_reference", ())
    has = task in now.get("uses_reference", ())
    if was != has:
        reason = f"used reference information of {task}, the other did not"
        yield Difference("data", f"one of the two {reason}")

    was = before.get("protocols", {}).get(task)
    has = now.get("protocols", {}).get(task)
    if was != has:
        reason = f"{task} was asked by the protocol {was}, now by {has}"
        yield Difference("protocol", reason)
    was = before.get("refusals", {}).get(task, "scored")
    has = now.get("refusals", {}).get(task, "scored")
    if was != has:
        reason = f"refused answers of {task} were {was}, now they are {has}"
        sides = ({"refusals": was}, {"refusals": has})
        yield Difference("definition", reason, *sides)

    old, new = metric_of(before, task, output), metric_of(now, task, output)
    was, has = _changed(_definition(old), _definition(new))
    if new and has:
        reason = f"the metric differs in {listed(list(has), 3)}"
        yield Difference("definition", reason, was, has)
    judged_now = judges_of(now, task, new)
    is_named_alike = judged_now == (judges_of(before, task, old) or set())
    if judged_now is not None:
        if not is_named_alike:
            yield Difference("judge", "it was judged by another judge")
        metric = name_of(now, task, output)
        for difference in _judged_differently(plans(task), metric):
            if is_named_alike or difference.aspect != "judge":
                yield difference
    for piece in new.get("pieces", ()):
        if piece != output:
            yield from differences(first, other, task, piece, plans)


def _judged_differently(
    plans: tuple[Mapping[str, Any], Mapping[str, Any]], metric: str
) -> Iterator[Difference]:
    """How judges of one name differ all the same, as the score sets know them."""
    old_roles, new_roles = (judging_roles(plan, metric) for plan in plans)
    if not old_roles or not new_roles:
        return
    for which, aspect in enumerate(_OF_A_JUDGE):
        before, now = _changed(_by_name(old_roles, which), _by_name(new_roles, which))
        if not now:
            continue
        reason = "its judge was asked in another way"
        if aspect == "judge":
            reason = "the judge of this name is another one"
        yield Difference(aspect, f"{reason}: {listed(list(now), 3)}", before, now)


def changed_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names under which two mappings do not hold the same."""
    names = {**before, **now}
    return [name for name in names if before.get(name) != now.get(name)]


def _changed(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is not the same in both, None where one side lacks it."""
    names = changed_names(before, now)
    return (
        {name: before.get(name) for name in names},
        {name: now.get(name) for name in names},
    )


def _by_name(
    roles: Mapping[str, tuple[Mapping[str, Any], ...]], which: int
) -> dict[str, Any]:
    """Who judges (0) or the parameters (1), by name and role."""
    found = {}
    for role, known in roles.items():
        lead = "" if role == "judge" else f"{role} "
        for name, value in known[which].items():
            found[f"{lead}{name}"] = value
    return found


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
            model = {}
            parameters = dict(plan.get("role_params", {}).get(role, {}))
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
    known = {name: item for name, item in value.items() if name != "base_url"}
    return {name: _without_address(item) for name, item in known.items()}


def metrics_of(ours: Mapping[str, Any], task: str) -> Mapping[str, Mapping[str, Any]]:
    """The metrics of a task by name, as the results file defines them."""
    tasks: Mapping[str, Mapping[str, Mapping[str, Any]]] = ours.get("metrics", {})
    return tasks.get(task, {})


def name_of(
    ours: Mapping[str, Any],
    task: str,
    output: str,
) -> str:
    """The name of the metric that gives a number."""
    for name, metric in metrics_of(ours, task).items():
        if output in metric.get("outputs", (name,)):
            return name
    return ""


def metric_of(
    ours: Mapping[str, Any],
    task: str,
    output: str,
) -> Mapping[str, Any]:
    """The metric of a number, as the results file defines it."""
    return metrics_of(ours, task).get(name_of(ours, task, output), {})


def range_of(metric: Mapping[str, Any]) -> tuple[float, float]:
    """The range that the results file states for a metric; without ends where it has
    none."""
    low, high = metric.get("range") or (-math.inf, math.inf)
    return low, high


def judges_of(
    ours: Mapping[str, Any], task: str, metric: Mapping[str, Any]
) -> set[tuple[str, str]] | None:
    """Of a metric's task, as ``judges_in``; None: no judge."""
    if not metric.get("judged", task in ours.get("judges", {})):
        return None
    return judges_in(ours, (task,))


def judges_in(ours: Mapping[str, Any], tasks: Iterable[str]) -> set[tuple[str, str]]:
    """Each judging role of these tasks with the model that served or was asked for."""
    judges = set()
    for task in tasks:
        for row in ours.get("judges", {}).get(task, ()):
            model = row.get("served") or row.get("asked")
            judges.add((str(row.get("role")), str(model)))
    return judges


def _definition(metric: Mapping[str, Any]) -> dict[str, Any]:
    """What defines a metric, as a results file has it, its switches by name."""
    definition: dict[str, Any] = dict(_as_scored(metric.get("switches") or {}))
    for name in ("version", "aggregation"):
        if name in metric:
            definition[name] = metric[name]
    return definition


def _as_scored(value: Any) -> Any:
    """A definition as scores depend on it: a model is its files, whatever its name."""
    if not isinstance(value, Mapping):
        return value
    fingerprint = value.get("fingerprint")
    if fingerprint:
        return fingerprint
    return {name: _as_scored(item) for name, item in value.items()}
