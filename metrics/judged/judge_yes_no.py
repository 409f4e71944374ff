"""Yes or no: a judge answers one question about the answer."""

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
from mmeval.program import JudgePrompt, Program, PromptValue, Role
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
    prompt: Annotated[PromptValue, JudgePrompt(*NAMES, "question")] = "judge_yes_no",
) -> Program[Score]:
    """1 when the judge gives the wanted answer (yes or no), else 0.

    Range 0 to 1, higher is better. The question is the switch ``question``, or the
    row's label under ``question_key``. ``wanted`` is true if the wanted answer is yes.
    The row's label under ``wanted_key`` (true, false, ``yes``, ``no``) replaces it. The
    answer is unscored if the verdict is lost, or if the judge is not sure. ``not_sure``
    sets a score for the latter case.

    The judge sees the sample's input with ``show_input``, all references with
    ``show_references``, and media unless ``media`` is false. ``repeats`` is the number
    of judge calls, and ``combine`` combines them into one verdict: ``majority``, or
    ``mean`` for the share of wanted answers. Evidence: the verdict with the judge's
    reason, the votes, and their spread.

    In a task: ``metric_list: [{metric: judge_yes_no, question: "Does the answer
    name a bird?"}]``
    """
    labels = trial.sample.metadata
    question_text: Any = question
    if question_key:
        question_text = labels.get(question_key)
    expected: bool | None = wanted
    if wanted_key:
        label = labels.get(wanted_key)
        expected = _LABELS.get(str(label).strip().lower())
        if isinstance(label, bool):
            expected = label
    if not isinstance(question_text, str) or not question_text.strip():
        return Score.unscored(f"the row has no question under {question_key!r}")
    if expected is None:
        return Score.unscored(f"the row's label {wanted_key!r} is neither yes nor no")
    values = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    values["question"] = question_text
    questions = [Question(judge, FORM, prompt, values)]
    (verdict,) = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    if verdict.lost or (verdict.unknown("verdict") and not_sure is None):
        return verdict.unscored("verdict", bounds=(0.0, 1.0))
    yes = verdict.values["verdict"]
    if yes is None:
        value = not_sure
    elif expected:
        value = float(yes)
    else:
        value = 1 - float(yes)
    return Score(value, evidence=verdict.evidence)
