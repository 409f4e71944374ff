"""Filters of answers, as lm-evaluation-harness has them: what metrics read of the
answers to a sample.

A pipeline has a name and steps. Each step is a function of a text (``regex``,
``lowercase``, ...), or chooses among the answers to one sample (``take_first``,
``majority_vote``, ...). A metric with pipelines gives a number for each: its output is
called ``exact_match,strict-match``, as results files of lm-evaluation-harness spell it.

Answers travel one by one to the processes that score. So each is scored alone, and its
evidence holds what it votes for, under ``BALLOT``. Votes are counted where the scores
of a sample are read together (``mmeval.metric.scoring.votes``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from mmeval.media.parts import Interleaved, text_part
from mmeval.records.trial import Trial
from mmeval.system.arguments import Checked, OneOrMore, regex_fault

FILTERS = "filter_list"
"""The switch of a metric under which its pipelines are recorded."""
BALLOT = "majority_vote"
"""The key of a score's evidence for the text that an answer votes for."""
NO_FILTER = "none"
"""The name that lm-evaluation-harness gives to answers as they are."""
INVALID = "[invalid]"
"""What a step makes of an answer in which it finds nothing."""


Pattern: TypeAlias = Annotated[str, Checked(regex_fault)]


def regex(
    text: str,
    *,
    regex_pattern: Pattern = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str = INVALID,
) -> str:
    """The match of a number, from 0; its first group that is not empty, if it has
    groups. ``fallback`` where there is no such match."""
    matches = re.findall(regex_pattern, text)
    try:
        match = matches[group_select]
    except IndexError:
        return fallback
    if isinstance(match, tuple):
        groups = [group for group in match if group]
        match = groups[0] if groups else fallback
    return str(match).strip()


def remove_whitespace(text: str) -> str:
    """Without white space at both ends."""
    return text.strip()


def lowercase(text: str) -> str:
    return text.lower()


def uppercase(text: str) -> str:
    return text.upper()


def mapped(
    text: str,
    *,
    mapping_dict: Mapping[str, Any],
    default_value: str | int | float = INVALID,
) -> str:
    """The value of the text in a mapping."""
    return str(mapping_dict.get(text, default_value))


def take_first(text: str) -> str:
    """Of the answers to a sample the first alone is read."""
    return text


def take_first_k(text: str, *, k: OneOrMore) -> str:  # noqa: ARG001
    """Of the answers to a sample the first ``k`` are read. Behind a vote it changes
    nothing."""
    return text


def majority_vote(text: str) -> str:
    """Of the answers to a sample one counts that has the most frequent text; of several
    such texts, that of the earliest answer."""
    return text


STEPS: Mapping[str, Callable[..., str]] = {
    "regex": regex,
    "remove_whitespace": remove_whitespace,
    "lowercase": lowercase,
    "uppercase": uppercase,
    "map": mapped,
    "take_first": take_first,
    "take_first_k": take_first_k,
    "majority_vote": majority_vote,
}
"""The functions of steps by the names that task files call them."""


@dataclass(frozen=True)
class AnswerFilter:
    """A pipeline. Each of its ``steps`` is ``{"function": NAME, ...options}``."""

    name: str
    steps: tuple[Mapping[str, Any], ...]

    @property
    def answers(self) -> int | None:
        """How many answers to a sample are read; None for all. Steps behind a vote
        limit nothing: they see only the answer that the vote has chosen."""
        limits = []
        for step in self._before_vote:
            if "k" in step:
                limits.append(step["k"])
            elif step["function"] == "take_first":
                limits.append(1)
        return min(limits, default=None)

    def text(self, text: str) -> str:
        """A text after all steps."""
        return _after(text, self.steps)

    def ballot(self, text: str) -> str | None:
        """The text with which an answer takes part in the vote; None without a vote."""
        return _after(text, self._before_vote) if self._has_vote else None

    def chooses(self, output: str) -> bool:
        """Whether an output is that of one answer that a vote has chosen."""
        return self._has_vote and name_and_filter(output)[1] == self.name

    def applied(self, trial: Trial) -> Trial:
        """A trial whose answer is the filtered text, with the answer's media behind
        it."""
        if trial.output is None:
            return trial
        text = self.text(trial.output.text)
        parts = [text_part(text)] if text else []
        for part in trial.output.parts:
            if part.media is not None:
                parts.append(replace(part, raw="", label=""))
        return replace(trial, output=Interleaved(tuple(parts)))

    def output(self, name: str) -> str:
        """The name of the number that a metric's output has with this filter."""
        return f"{name},{self.name}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "filter": [dict(step) for step in self.steps]}

    @property
    def _names(self) -> list[str]:
        return [step["function"] for step in self.steps]

    @property
    def _has_vote(self) -> bool:
        return "majority_vote" in self._names

    @property
    def _before_vote(self) -> tuple[Mapping[str, Any], ...]:
        """The steps before the vote; all without one."""
        if not self._has_vote:
            return self.steps
        return self.steps[: self._names.index("majority_vote")]


def filters_of(written: Sequence[Mapping[str, Any]]) -> tuple[AnswerFilter, ...]:
    """Pipelines as a task file has them, checked before."""
    filters = []
    for pipeline in written:
        filters.append(AnswerFilter(pipeline["name"], tuple(pipeline["filter"])))
    return tuple(filters)


def name_and_filter(output: str) -> tuple[str, str]:
    """A metric's output and the filter behind it, ``none`` without one."""
    name, _, filter_name = output.partition(",")
    return name, filter_name or NO_FILTER


def _after(text: str, steps: Sequence[Mapping[str, Any]]) -> str:
    for step in steps:
        options = {key: value for key, value in step.items() if key != "function"}
        text = STEPS[step["function"]](text, **options)
    return text
