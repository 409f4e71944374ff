"""Reads the planner's JSON replies in each step.

An unusable reply raises ReplyError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from mmeval.media import canonical_label
from mmeval.metric.judge import ReplyError, read_object

_NAMES: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


class DataAnalysis(NamedTuple):
    """A computation that runs before the planning step.

    ``report`` is a report without results (None if not needed), and ``code`` is a
    program that computes them.
    """

    report: Mapping[str, Any] | None
    code: str = ""


class ReportCheck(NamedTuple):
    """The result of the check of a report."""

    passed: bool
    issues: list[str]


class FaultyStep(NamedTuple):
    """The step that a judger blames for a failed check."""

    step: int
    reason: str


def tcdc(
    labels: Collection[str],
) -> Callable[[str], Mapping[str, str]]:
    """Returns a function that reads captions, conditioned on the task, of these items.

    A reply may omit items.
    """

    def read(text: str) -> Mapping[str, str]:
        captions = _texts(_fields(text, tcdc=dict)["tcdc"])
        by_label = {canonical_label(name): captions[name] for name in captions}
        return {name: by_label[name] for name in labels if name in by_label}

    return read


def paraphrase(text: str) -> str:
    question: str = _fields(text, paraphrased_question=str)["paraphrased_question"]
    if not question.strip():
        raise ReplyError("paraphrased_question is empty")
    return question


def data_analysis(text: str) -> DataAnalysis:
    if not _fields(text, needs_data_analysis=bool)["needs_data_analysis"]:
        return DataAnalysis(None)
    fields = _fields(text, needs_data_analysis=bool, data_report=dict)
    return DataAnalysis(fields["data_report"], str(fields.get("code") or ""))


def plan(text: str) -> Mapping[str, Any]:
    """Reads the three keys of a plan, and checks their types.

    A later step checks if they agree.
    """
    fields = _fields(text, modalities_content=dict, text_content=str, tool_list=dict)
    if not fields["text_content"].strip():
        raise ReplyError("text_content is empty")
    contents = fields["modalities_content"]
    return {
        "modalities_content": {kind: _texts(contents[kind]) for kind in contents},
        "text_content": fields["text_content"],
        "tool_list": _texts(fields["tool_list"]),
    }


def verdict(text: str) -> ReportCheck:
    fields = _fields(text, **{"pass": bool})
    issues = fields.get("issues") or []
    if not isinstance(issues, list):
        issues = [issues]
    return ReportCheck(fields["pass"], list(map(str, issues)))


def fault(text: str) -> FaultyStep:
    fields = _fields(text, faulty_step=int)
    return FaultyStep(fields["faulty_step"], str(fields.get("reason") or ""))


def _fields(text: str, **types: type) -> dict[str, Any]:
    """Reads the object in a reply. ``types`` are the types of the values of its keys.

    Raises ReplyError.
    """
    fields = read_object(text, types)
    for name, kind in types.items():
        if type(fields[name]) is not kind:
            raise ReplyError(f"{name} is not {_NAMES[kind]}")
    return fields


def _texts(value: object) -> dict[str, str]:
    """Returns a value that must be an object with strings as values.

    Raises ReplyError for any other value.
    """
    values = list(value.values()) if isinstance(value, dict) else [None]
    if not all(isinstance(item, str) for item in values):
        raise ReplyError("it is not an object whose values are all strings")
    texts: dict[str, str] = value  # type: ignore[assignment]  # checked above
    return texts
