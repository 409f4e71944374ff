"""Pairs: a judge says which of two answers is better, in both orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from mmeval.media import Interleaved, text_part
from mmeval.metric import metric
from mmeval.metric.judge import (
    Choice,
    Question,
    Repeats,
    ReplyForm,
    Text,
    Verdict,
    ask_verdicts,
    shown,
)
from mmeval.metrics.judged.material import Material, question_content
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import CAUSES, Score, Trial

ANSWER, REFERENCE, TIE = "answer", "reference", "tie"
_FORM = ReplyForm((Text("reason"), Choice("better", ("A", "B", TIE), unsure=True)))
_ORDERS = ((ANSWER, REFERENCE), (REFERENCE, ANSWER))
"""What is shown as A and as B, in each order."""
_VALUES = {ANSWER: 1.0, TIE: 0.5, REFERENCE: 0.0}


def _another_answer(trial: Trial, _switches: Mapping[str, Any]) -> Interleaved:
    """Returns an answer that differs from the reference, so that two orders differ."""
    references = trial.sample.references
    reference = references[0] if references else Interleaved()
    return Interleaved((*reference.parts, text_part(" And more.")))


@metric(
    range=(0, 1),
    version="1",
    source="our own, with the prompt of the same name",
    supposed=_another_answer,
)
def judge_pair(
    trial: Trial,
    judge: Role,
    *,
    rubric: str = "",
    show_input: bool = True,
    show_references: bool = False,
    media: bool = True,
    repeats: Repeats = 1,
    prompt: Annotated[
        PromptValue,
        JudgePrompt("first", "second", "input", "references", "rubric"),
    ] = "judge_pair",
) -> Program[Score]:
    """1 if the judge prefers the answer to the first reference, 0.5 for a tie, else 0.

    Range 0 to 1, higher is better. The first reference is the answer to compare with,
    such as that of another model. The judge compares the answers as a whole, or by the
    ``rubric``, a text.

    The judge is asked twice, and each answer is shown first once. If the two verdicts
    differ, the result is a tie. Without a call, two equal answers are a tie, and an
    empty one loses. The answer is unscored, with the bounds 0 and 1, if the judge is
    not sure or a verdict is lost.

    The judge sees the sample's input with ``show_input``, the references after the
    first with ``show_references``, and media unless ``media`` is false. With
    ``repeats`` the majority decides, for each order. Evidence: ``better``, ``orders``
    (which answer was shown ``first``, and which one is ``better``, with the judge's
    reason and the votes), and ``inconsistent``, true if the two orders differ.

    Example: the answer is better if shown first, and the reference is better if shown
    first: the score is 0.5.
    """
    if not trial.sample.references:
        return Score.unscored("there is no reference to compare with")
    other, *references = trial.sample.references
    answers = {
        ANSWER: shown(trial.output, media=media),
        REFERENCE: shown(other, media=media),
    }
    fixed = _fixed(answers[ANSWER], answers[REFERENCE])
    if fixed:
        return Score(_VALUES[fixed], evidence={"better": fixed, "orders": []})
    shared: Material = {"input": "", "references": [], "rubric": rubric}
    if show_input:
        shared["input"] = shown(question_content(trial.sample), media=media)
    if show_references:
        shared["references"] = [shown(each, media=media) for each in references]

    questions: list[Question] = []
    for first, second in _ORDERS:
        values = {**shared, "first": answers[first], "second": answers[second]}
        questions.append(Question(judge, _FORM, prompt, values))
    verdicts = yield from ask_verdicts(questions, repeats=repeats)

    orders: list[dict[str, Any]] = []
    for (first, second), verdict in zip(_ORDERS, verdicts, strict=True):
        letters = {"A": first, "B": second, TIE: TIE, None: None}
        better = letters[verdict.values.get("better")]
        row = {**verdict.evidence, **verdict.loss, "first": first, "better": better}
        orders.append(row)
    missing = [verdict for verdict in verdicts if verdict.unknown("better")]
    if missing:
        return _unscored(missing, orders)
    is_inconsistent = orders[0]["better"] != orders[1]["better"]
    better = TIE if is_inconsistent else orders[0]["better"]
    return Score(
        _VALUES[better],
        evidence={"better": better, "orders": orders, "inconsistent": is_inconsistent},
    )


def _fixed(answer: Interleaved, reference: Interleaved) -> str:
    """Returns which answer is better if that needs no judge, else an empty string."""
    if answer == reference or (answer.empty and reference.empty):
        return TIE
    if answer.empty or reference.empty:
        return REFERENCE if answer.empty else ANSWER
    return ""


def _unscored(missing: list[Verdict], orders: list[dict[str, Any]]) -> Score:
    return Score(
        status="unscored",
        reason=missing[0].unknown("better"),
        evidence={"orders": orders},
        bounds=(0.0, 1.0),
        cause=min((verdict.cause for verdict in missing), key=CAUSES.index),
    )
