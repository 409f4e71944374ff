"""Grades: a judge grades the answer on a scale of described levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mmeval.metric import metric
from mmeval.metric.judge import (
    Combine,
    Number,
    Question,
    Repeats,
    ReplyForm,
    Text,
    ask_verdicts,
)
from mmeval.metrics.judged.material import NAMES, material
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Score, Trial
from mmeval.system import Condition

LEVELS = (
    "does not do what was asked",
    "does a small part of it, or has grave faults",
    "does the main part of it, with faults that matter",
    "does what was asked, with small faults",
    "does what was asked in full and without faults",
)
_GRADE = re.compile(r"-?\d{1,9}")


def _levels_fault(levels: Any) -> str:
    if len(levels) < 2:
        return "two levels or more"
    if not isinstance(levels, Mapping):
        return ""
    names = list(map(str, levels))
    if not all(map(_GRADE.fullmatch, names)):
        return "a list, or a mapping whose keys are whole numbers"
    if len(set(map(int, names))) < len(names):
        return "levels of different grades"
    return ""


@metric(range=(0, 1), version="1", source="our own, with the prompt of the same name")
def judge_grade(
    trial: Trial,
    judge: Role,
    *,
    levels: Annotated[
        Sequence[str] | Mapping[str, str], Condition(_levels_fault)
    ] = LEVELS,
    criterion: str = "How well does the answer do what was asked?",
    show_input: bool = True,
    show_references: bool = False,
    media: bool = True,
    repeats: Repeats = 1,
    combine: Combine = "mean",
    prompt: Annotated[
        PromptValue, JudgePrompt(*NAMES, "criterion", "levels")
    ] = "judge_grade",
) -> Program[Score]:
    """The judge's grade as a share: 0 for the lowest level, 1 for the highest.

    Range 0 to 1, higher is better: ``(grade - lowest) / (highest - lowest)``.
    ``levels`` is a list of descriptions, graded from 1, or a mapping from whole numbers
    to descriptions. The judge may also choose a grade between two described levels.
    ``criterion`` states what is graded. The answer is unscored if the judge is not sure
    or the verdict is lost.

    The judge sees the sample's input with ``show_input``, all references with
    ``show_references``, and media unless ``media`` is false. ``repeats`` is the number
    of judge calls, and ``combine`` (``mean``, ``median`` or ``majority``) combines them
    into one grade. Evidence: the grade with the judge's reason, the votes, and their
    spread (in grades).

    Example: grade 4 on a scale from 1 to 5 gives 0.75.

    In a task: ``metric_list: [{metric: judge_grade, criterion: "How polite is it?",
    levels: [rude, neutral, polite]}]``
    """
    scale = dict(enumerate(levels, start=1))
    if isinstance(levels, Mapping):
        scale = {int(grade): text for grade, text in levels.items()}
    low, high = min(scale), max(scale)
    form = ReplyForm((Text("reason"), Number("grade", low, high, unsure=True)))
    listed: list[Mapping[str, Any]] = [
        {"grade": grade, "text": text} for grade, text in sorted(scale.items())
    ]
    prompt_values = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    prompt_values |= {"criterion": criterion, "levels": listed}
    questions = [Question(judge, form, prompt, prompt_values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    if verdict.unknown("grade"):
        return verdict.unscored("grade", bounds=(0.0, 1.0))
    share = (verdict.values["grade"] - low) / (high - low)
    return Score(share, evidence=verdict.evidence)
