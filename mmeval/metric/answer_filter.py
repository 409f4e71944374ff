"""Filters of answers, as in lm-evaluation-harness.

A filter decides which answers to a sample are scored, and which part of their text is
used. A filter is a pipeline with a name and steps. A step changes the text of an answer
(``regex``, ``lowercase``, ...) or selects among the answers to one sample
(``take_first``, ``majority_vote``, ...). For each pipeline, a metric has a separate
output. Its name is the same as in results files of lm-evaluation-harness, such as
``exact_match,strict-match``.

The scoring processes get answers one by one. Each answer is scored alone. The text that
it votes for is recorded under ``BALLOT`` in the evidence of its score. The votes are
counted when the scores of a sample are read together (``mmeval.metric.scoring.votes``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from mmeval.media.parts import Interleaved, text_part
from mmeval.records.trial import Trial
from mmeval.system.arguments import Condition, OneOrMore, regex_fault

FILTERS = "filter_list"
"""The switch that records the pipelines of a metric."""
BALLOT = "majority_vote"
"""The key in a score's evidence for the text that an answer votes for."""
NO_FILTER = "none"
"""The name that lm-evaluation-harness uses for unfiltered answers."""
INVALID = "[invalid]"
"""The result of a step that finds nothing in an answer."""


Pattern: TypeAlias = Annotated[str, Condition(regex_fault)]


def regex(
    text: str,
    *,
    regex_pattern: Pattern = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str = INVALID,
) -> str:
    """Returns the match with index ``group_select``.

    Without such a match, it returns ``fallback``.

    If the pattern has groups, the result is the first group that is not empty.
    """
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
    """Removes white space from both ends of the text."""
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
    """Returns the value to which a mapping maps the text."""
    return str(mapping_dict.get(text, default_value))


def take_first(text: str) -> str:
    """Returns the text unchanged. Only the first answer to a sample is scored."""
    return text


def take_first_k(text: str, *, k: OneOrMore) -> str:  # noqa: ARG001
    """Returns the text unchanged.

    Only the first ``k`` answers to a sample are scored. After a vote, the step has no
    effect.
    """
    return text


def majority_vote(text: str) -> str:
    """Returns the text unchanged.

    Only one answer to a sample is scored: the first answer with the most frequent text.

    If several texts are equally frequent, the text of the earliest answer wins.
    """
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
"""The functions of steps, by their names in task files."""


@dataclass(frozen=True)
class AnswerFilter:
    """A pipeline. Each step is ``{"function": NAME, ...options}``."""

    name: str
    steps: tuple[Mapping[str, Any], ...]

    @property
    def answers(self) -> int | None:
        """The number of answers to a sample that are scored, or None for all.

        Steps after a vote do not limit the number further, because the vote leaves a
        single answer.
        """
        limits = []
        for step in self._before_vote:
            if "k" in step:
                limits.append(step["k"])
            elif step["function"] == "take_first":
                limits.append(1)
        return min(limits, default=None)

    def text(self, text: str) -> str:
        """Returns the text after all steps."""
        return _after(text, self.steps)

    def ballot(self, text: str) -> str | None:
        """Returns the text that an answer votes for, or None without a vote."""
        return _after(text, self._before_vote) if self._has_vote else None

    def chooses(self, output: str) -> bool:
        """Returns True if this filter's vote selects the answer for an output."""
        return self._has_vote and name_and_filter(output)[1] == self.name

    def applied(self, trial: Trial) -> Trial:
        """Returns the trial with the filtered text as its answer, followed by the
        answer's media."""
        if trial.output is None:
            return trial
        text = self.text(trial.output.text)
        parts = [text_part(text)] if text else []
        for part in trial.output.parts:
            if part.media is not None:
                parts.append(replace(part, raw="", label=""))
        return replace(trial, output=Interleaved(tuple(parts)))

    def output(self, name: str) -> str:
        """Returns the name of a metric's output with this filter."""
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
        """The steps before the vote, or all steps if there is no vote."""
        if not self._has_vote:
            return self.steps
        return self.steps[: self._names.index("majority_vote")]


def filters_of(written: Sequence[Mapping[str, Any]]) -> tuple[AnswerFilter, ...]:
    """Returns the pipelines of a task file, which must be valid."""
    filters = []
    for pipeline in written:
        filters.append(AnswerFilter(pipeline["name"], tuple(pipeline["filter"])))
    return tuple(filters)


def name_and_filter(output: str) -> tuple[str, str]:
    """Splits an output into the name of the metric's output and the filter.

    The filter is ``none`` if the output is unfiltered.
    """
    name, _, filter_name = output.partition(",")
    return name, filter_name or NO_FILTER


def _after(text: str, steps: Sequence[Mapping[str, Any]]) -> str:
    for step in steps:
        options = {key: value for key, value in step.items() if key != "function"}
        text = STEPS[step["function"]](text, **options)
    return text
