"""What the planner replies in each step, as JSON: read, and refused where it cannot be
used."""

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
    """What is to be computed before planning, if anything: a report without results,
    and a program that finds them."""

    report: Mapping[str, Any] | None
    code: str = ""


class ReportCheck(NamedTuple):
    passed: bool
    issues: list[str]


class FaultyStep(NamedTuple):
    """The step that a judger blames for a failed check."""

    step: int
    reason: str


def tcdc(
    known: Collection[str],
) -> Callable[[str], Mapping[str, str]]:
    """Reads captions of these items, conditioned on the task. Some may be left out."""

    def read(text: str) -> Mapping[str, str]:
        written = _texts(_fields(text, tcdc=dict)["tcdc"])
        found = {canonical_label(name): written[name] for name in written}
        return {name: found[name] for name in known if name in found}

    return read


def paraphrase(text: str) -> str:
    found: str = _fields(text, paraphrased_question=str)["paraphrased_question"]
    if not found.strip():
        raise ReplyError("paraphrased_question is empty")
    return found


def data_analysis(text: str) -> DataAnalysis:
    if not _fields(text, needs_data_analysis=bool)["needs_data_analysis"]:
        return DataAnalysis(None)
    found = _fields(text, needs_data_analysis=bool, data_report=dict)
    return DataAnalysis(found["data_report"], str(found.get("code") or ""))


def plan(text: str) -> Mapping[str, Any]:
    """The three keys of a plan, in their types; whether they agree is not read here."""
    found = _fields(text, modalities_content=dict, text_content=str, tool_list=dict)
    if not found["text_content"].strip():
        raise ReplyError("text_content is empty")
    contents = found["modalities_content"]
    return {
        "modalities_content": {kind: _texts(contents[kind]) for kind in contents},
        "text_content": found["text_content"],
        "tool_list": _texts(found["tool_list"]),
    }


def verdict(text: str) -> ReportCheck:
    found = _fields(text, **{"pass": bool})
    issues = found.get("issues") or []
    if not isinstance(issues, list):
        issues = [issues]
    return ReportCheck(found["pass"], list(map(str, issues)))


def fault(text: str) -> FaultyStep:
    found = _fields(text, faulty_step=int)
    return FaultyStep(found["faulty_step"], str(found.get("reason") or ""))


def _fields(text: str, **wanted: type) -> dict[str, Any]:
    """The object of a reply whose wanted keys have values of these types. Raises
    ReplyError."""
    found = read_object(text, wanted)
    for name, kind in wanted.items():
        if type(found[name]) is not kind:
            raise ReplyError(f"{name} is not {_NAMES[kind]}")
    return found


def _texts(found: object) -> dict[str, str]:
    """An object whose values are texts. Raises ReplyError."""
    values = list(found.values()) if isinstance(found, dict) else [None]
    if not all(isinstance(value, str) for value in values):
        raise ReplyError("it holds what is not text, where every name has a text")
    texts: dict[str, str] = found  # type: ignore[assignment]  # checked above
    return texts
