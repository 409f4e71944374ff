"""What the planner replies in each step, as JSON: read, and refused where it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from mmeval.content import canonical_label
from mmeval.judge import ReplyError, read_object
from mmeval.records import Response

T = TypeVar("T")
Captions = Mapping[str, str]
"""A caption for each item, by label."""


class DataAnalysis(NamedTuple):
    """What is to be computed before planning, if anything: a report without results, and a program that finds them."""

    report: Mapping[str, Any] | None
    code: str = ""


class Verdict(NamedTuple):
    passed: bool
    issues: list[str]


class Fault(NamedTuple):
    """The step that a judger blames for a failed check."""

    step: int
    reason: str


def accepts(read: Callable[[str], object]) -> Callable[[Response], str]:
    """``Call.accept`` for what a reader can read."""

    def fault(response: Response) -> str:
        try:
            read(response.text)
        except ReplyError as error:
            return str(error)
        return ""

    return fault


def tcdc(known: Collection[str]) -> Callable[[str], Captions]:
    """Reads captions of these items, conditioned on the task. Some may be left out."""

    def read(text: str) -> Captions:
        found = _mapping(read_object(text, ["tcdc"]), "tcdc")
        named = {canonical_label(name): _words(caption, name) for name, caption in found.items()}
        return {name: named[name] for name in known if name in named}

    return read


def paraphrase(text: str) -> str:
    question = _words(read_object(text, ["paraphrased_question"])["paraphrased_question"], "paraphrased_question")
    if not question.strip():
        raise ReplyError("paraphrased_question is empty")
    return question


def data_analysis(text: str) -> DataAnalysis:
    found = read_object(text, ["needs_data_analysis"])
    if not _flag(found, "needs_data_analysis"):
        return DataAnalysis(None)
    report = _mapping(found, "data_report")
    return DataAnalysis(report, _words(found.get("code") or "", "code"))


def plan(text: str) -> Mapping[str, Any]:
    """The three keys of a plan, in their types; whether they agree is not read here."""
    found = read_object(text, ["modalities_content", "text_content", "tool_list"])
    contents = _mapping(found, "modalities_content")
    words = _words(found["text_content"], "text_content")
    if not words.strip():
        raise ReplyError("text_content is empty")
    return {
        "modalities_content": {
            kind: {name: _words(caption, name) for name, caption in _mapping(contents, kind).items()}
            for kind in contents
        },
        "text_content": words,
        "tool_list": {name: _words(tool, name) for name, tool in _mapping(found, "tool_list").items()},
    }


def verdict(text: str) -> Verdict:
    found = read_object(text, ["pass"])
    issues = found.get("issues") or []
    if not isinstance(issues, list):
        raise ReplyError("issues is no list")
    return Verdict(_flag(found, "pass"), [str(issue) for issue in issues])


def fault(text: str) -> Fault:
    found = read_object(text, ["faulty_step"])
    step = found["faulty_step"]
    if type(step) is not int:
        raise ReplyError("faulty_step is no whole number")
    return Fault(step, str(found.get("reason") or ""))


def _flag(found: Mapping[str, Any], key: str) -> bool:
    if not isinstance(found[key], bool):
        raise ReplyError(f"{key} is neither true nor false")
    return found[key] is True


def _mapping(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    if not isinstance(found.get(key), dict):
        raise ReplyError(f"{key} is no object")
    return {**found[key]}


def _words(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise ReplyError(f"{key[:40]} is no text")
    return value
