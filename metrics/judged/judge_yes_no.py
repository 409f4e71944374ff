"""Yes or no: one question that a judge answers about the answer."""

from __future__ import annotations

from typing import Annotated, Any

from mmeval.metric import metric
from mmeval.metric.judge import (
    Combine,
    Question,
    Repeats,
    ReplyForm,
    Text,
    YesNo,
    ask_verdicts,
)
from mmeval.metrics.judged.material import NAMES, material
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Score, Trial
from mmeval.system import OptionalShare

_LABELS = {"yes": True, "no": False}
FORM = ReplyForm((Text("reason"), YesNo("verdict", unsure=True)))


@metric(range=(0, 1), version="1", source="our own, with the prompt of the same name")
def judge_yes_no(
    trial: Trial,
    judge: Role,
    *,
    question: str = "Does the answer do what was asked?",
    question_key: str = "",
    wanted: bool = True,
    wanted_key: str = "",
    not_sure: OptionalShare = None,
    show_input: bool = True,
    show_references: bool = False,
    media: bool = True,
    repeats: Repeats = 1,
    combine: Combine = "majority",
    prompt: Annotated[Written, JudgePrompt(*NAMES, "question")] = "judge_yes_no",
) -> Program[Score]:
    """1 when the judge answers the question as is wanted, else 0.

    Range 0 to 1, higher is better. The question is the switch, or the row's label under
    ``question_key``; what is wanted is ``wanted``, or the row's label (true, false,
    ``yes``, ``no``) under ``wanted_key``. A judge that is not sure leaves the trial
    unscored, unless ``not_sure`` gives the value that it then has; so does a lost
    verdict.

    The judge sees the sample's input with ``show_input``, all references with
    ``show_references``, media unless ``media`` is false. With ``repeats`` it is asked
    as often, and ``combine`` makes one verdict of it: ``majority``, or ``mean`` for the
    share of the wanted answers. Evidence: the verdict with the judge's reason, the
    votes, and their spread.
    """
    labels = trial.sample.metadata
    asked: Any = question
    if question_key:
        asked = labels.get(question_key)
    right: bool | None = wanted
    if wanted_key:
        label = labels.get(wanted_key)
        right = _LABELS.get(str(label).strip().lower())
        if isinstance(label, bool):
            right = label
    if not isinstance(asked, str) or not asked.strip():
        return Score.unscored(f"the row has no question under {question_key!r}")
    if right is None:
        return Score.unscored(f"the row's label {wanted_key!r} is neither yes nor no")
    values = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    values["question"] = asked
    questions = [Question(judge, FORM, prompt, values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    if verdict.lost or (verdict.unknown("verdict") and not_sure is None):
        return verdict.unscored("verdict", bounds=(0.0, 1.0))
    yes = verdict.values["verdict"]
    if yes is None:
        value = not_sure
    elif right:
        value = float(yes)
    else:
        value = 1 - float(yes)
    return Score(value, evidence=verdict.evidence)
