"""Checks whether two numbers are comparable: version, data and protocol of the task,
definition of the metric, and judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from mmeval.program.prompt_origin import words_of
from mmeval.system.wording import listed

Aspect = Literal[
    "version", "data", "protocol", "definition", "judge", "judge parameters"
]
Plans = Callable[[str], tuple[Mapping[str, Any], Mapping[str, Any]]]
"""A function that returns the definitions of a task's score sets in both runs. A
missing definition is empty."""

JUDGE_PARAMETERS: Final = "judge parameters"
_OF_A_JUDGE: tuple[Aspect, Aspect] = ("judge", JUDGE_PARAMETERS)
_NOT_WHO_JUDGES = ("model", "base_url", "backend")
"""Fields of an identity that do not identify the judging model. Instead of the
requested name, the name that the server reports is compared. The other fields state
where the model runs."""
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
"""Fields of an identity that describe how a model is called, not which model it is."""


class Difference(NamedTuple):
    """One difference in how two numbers were computed, with a reason in words.

    ``before`` and ``now`` are the fields that differ: those of a definition (version,
    aggregation, switches by name), or those of a judge and its parameters.
    """

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
    """Returns why a number of one results file is not comparable with the same number
    of another file.

    Returns an empty string if it is comparable. The files are given by their content,
    the number by its tasks and name. A derived number is comparable if all its pieces
    are comparable. The aspects in ``across`` may differ; ``judge`` includes the judge's
    parameters.
    """
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
    """Yields all differences in how a task's number was computed, including the
    differences of its pieces. Without ``plans``, judges are compared by name only."""
    before, now = first.get("mmeval", {}), other.get("mmeval", {})
    first_value: Any = first.get("versions", {}).get(task)
    other_value: Any = other.get("versions", {}).get(task)
    if first_value != other_value:
        reason = f"{task} had version {first_value} and now has {other_value}"
        yield Difference("version", reason)

    first_value = task in before.get("not_comparable", ())
    other_value = task in now.get("not_comparable", ())
    if first_value != other_value:
        reason = (
            "only one of them was computed on bundled samples, or by a stand-in metric"
        )
        yield Difference("data", reason)
    first_value = task in before.get("uses_reference", ())
    other_value = task in now.get("uses_reference", ())
    if first_value != other_value:
        reason = f"only one of them used reference information of {task}"
        yield Difference("data", reason)

    first_value = before.get("protocols", {}).get(task)
    other_value = now.get("protocols", {}).get(task)
    if first_value != other_value:
        reason = f"{task} used the protocol {first_value} and now uses {other_value}"
        yield Difference("protocol", reason)
    first_value = before.get("refusals", {}).get(task, "scored")
    other_value = now.get("refusals", {}).get(task, "scored")
    if first_value != other_value:
        reason = (
            f"refused answers of {task} were {first_value} before and are "
            f"{other_value} now"
        )
        sides = ({"refusals": first_value}, {"refusals": other_value})
        yield Difference("definition", reason, *sides)

    old, new = metric_of(before, task, output), metric_of(now, task, output)
    old_fields, new_fields = _changed(_definition(old), _definition(new))
    if new and new_fields:
        reason = _other_words(old_fields, new_fields)
        reason = reason or f"the metric differs in {listed(list(new_fields), 3)}"
        yield Difference("definition", reason, old_fields, new_fields)
    judged_now = judges_of(now, task, new)
    is_named_alike = judged_now == (judges_of(before, task, old) or set())
    if judged_now is not None:
        if not is_named_alike:
            yield Difference("judge", "the judge is another model")
        metric = name_of(now, task, output)
        for difference in _judged_differently(plans(task), metric):
            if is_named_alike or difference.aspect != "judge":
                yield difference
    for piece in new.get("pieces", ()):
        if piece != output:
            yield from differences(first, other, task, piece, plans)


def _other_words(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Returns a reason if a prompt is in the authors' words in only one of two
    definitions, else an empty string."""
    for switch, prompt in now.items():
        sides = (before[switch], prompt)
        if not all(isinstance(side, Mapping) and "sha256" in side for side in sides):
            continue
        words = [words_of(side) for side in sides]
        if words[0] != words[1] and "released" in words:
            name = prompt.get("name", switch)
            return (
                f"the prompt {name} is {words[0]} in one run, {words[1]} in the other"
            )
    return ""


def _judged_differently(
    plans: tuple[Mapping[str, Any], Mapping[str, Any]], metric: str
) -> Iterator[Difference]:
    """Yields differences between judges of the same name, according to the score
    sets."""
    old_roles, new_roles = (judging_roles(plan, metric) for plan in plans)
    if not old_roles or not new_roles:
        return
    for which, aspect in enumerate(_OF_A_JUDGE):
        before, now = _changed(_by_name(old_roles, which), _by_name(new_roles, which))
        if not now:
            continue
        reason = "its judge was called with other parameters"
        if aspect == "judge":
            reason = "the judge has the same name but is another model"
        yield Difference(aspect, f"{reason}: {listed(list(now), 3)}", before, now)


def changed_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns the names with different values in two mappings."""
    names = {**before, **now}
    return [name for name in names if before.get(name) != now.get(name)]


def _changed(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the entries that differ, from both mappings; an entry that is missing is
    None.
    """
    names = changed_names(before, now)
    return (
        {name: before.get(name) for name in names},
        {name: now.get(name) for name in names},
    )


def _by_name(
    roles: Mapping[str, tuple[Mapping[str, Any], ...]], index: int
) -> dict[str, Any]:
    """Returns the fields of the judges (0) or of their parameters (1), by role and
    name."""
    fields = {}
    for role, judge in roles.items():
        lead = "" if role == "judge" else f"{role} "
        for name, value in judge[index].items():
            fields[f"{lead}{name}"] = value
    return fields


def judging_roles(
    plan: Mapping[str, Any], metric: str
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Returns for each role of a metric the fields that identify its model, and its
    parameters."""
    roles = {}
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
            roles[role] = (model, parameters)
    return roles


def _without_address(value: Any) -> Any:
    """Returns a value of an identity without the addresses of the roles that an agent
    calls."""
    if not isinstance(value, Mapping):
        return value
    kept = {name: item for name, item in value.items() if name != "base_url"}
    return {name: _without_address(item) for name, item in kept.items()}


def metrics_of(ours: Mapping[str, Any], task: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the metrics of a task by name, as a results file defines them."""
    tasks: Mapping[str, Mapping[str, Mapping[str, Any]]] = ours.get("metrics", {})
    return tasks.get(task, {})


def name_of(
    ours: Mapping[str, Any],
    task: str,
    output: str,
) -> str:
    """Returns the name of the metric that computes a number."""
    for name, metric in metrics_of(ours, task).items():
        if output in metric.get("outputs", (name,)):
            return name
    return ""


def metric_of(
    ours: Mapping[str, Any],
    task: str,
    output: str,
) -> Mapping[str, Any]:
    """Returns the metric of a number, as a results file defines it."""
    return metrics_of(ours, task).get(name_of(ours, task, output), {})


def range_of(metric: Mapping[str, Any]) -> tuple[float, float]:
    """Returns the range of a metric in a results file, or an infinite range if the file
    states none."""
    low, high = metric.get("range") or (-math.inf, math.inf)
    return low, high


def judges_of(
    ours: Mapping[str, Any], task: str, metric: Mapping[str, Any]
) -> set[tuple[str, str]] | None:
    """Returns the judges of a metric's task, as ``judges_in`` does, or None for a
    metric without a judge."""
    if not metric.get("judged", task in ours.get("judges", {})):
        return None
    return judges_in(ours, (task,))


def judges_in(ours: Mapping[str, Any], tasks: Iterable[str]) -> set[tuple[str, str]]:
    """Returns each judging role of these tasks with its model, as reported by the
    server or else as requested."""
    judges = set()
    for task in tasks:
        for row in ours.get("judges", {}).get(task, ()):
            model = row.get("served") or row.get("asked")
            judges.add((str(row.get("role")), str(model)))
    return judges


def _definition(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the definition of a metric in a results file: version, aggregation,
    switches."""
    definition: dict[str, Any] = dict(_as_scored(metric.get("switches") or {}))
    for name in ("version", "aggregation"):
        if name in metric:
            definition[name] = metric[name]
    return definition


def _as_scored(value: Any) -> Any:
    """Returns a definition with each model replaced by the fingerprint of its files,
    since the name of a model does not affect scores."""
    if not isinstance(value, Mapping):
        return value
    fingerprint = value.get("fingerprint")
    if fingerprint:
        return fingerprint
    return {name: _as_scored(item) for name, item in value.items()}
