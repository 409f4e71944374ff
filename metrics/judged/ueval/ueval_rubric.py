"""UEval's rubric: the share of criteria that the text and the pictures meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from mmeval.media import Interleaved, Part
from mmeval.metric import MetricScores, metric
from mmeval.metric.judge import UNREAD, Question, Verdict, ask_verdicts
from mmeval.metrics.judged.material import Material, as_the_reference, question_content
from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    mean,
    unknown_value,
)
from mmeval.metrics.judged.reading import Lost, Reading, is_unknown, is_unread
from mmeval.metrics.judged.ueval.replies import KEY, REMARKS, criterion_form
from mmeval.metrics.judged.ueval.rows import (
    IMAGE_CRITERIA,
    TEXT_CRITERIA,
    Kind,
    Kinds,
    criteria_of,
    kind_of,
    row_fault,
)
from mmeval.program import JudgePrompt, Program, PromptFile, PromptValue, Role
from mmeval.records import Sample, Score, Trial

OUTPUTS = ("ueval_text", "ueval_image")
WithoutMedia = Literal["not_met", "asked"]
"""How the criteria of a side are judged if the answer contains nothing for that side:
they are not met without a judge call, or the judge is asked."""
CACHED = "cached"
"""The value of a released prompt that is set if the released script caches the part of
the call before the criterion. The script then also sends a system text."""
TextPrompt = Annotated[
    PromptValue, JudgePrompt("question", "answer", "criterion", CACHED, form=False)
]
OpenPrompt = Annotated[
    PromptValue,
    JudgePrompt("question", "answer", "criterion", "pictures", CACHED, form=False),
]
ClosedPrompt = Annotated[
    PromptValue, JudgePrompt("question", "criterion", "pictures", CACHED, form=False)
]


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    return row_fault(sample.metadata, switches["kinds"])


@metric(
    range=(0, 1),
    version="2",
    source="UEval, sections 3 and 4; official: its released evaluator",
    outputs=OUTPUTS,
    profiles={
        "official": {
            "reading": "official",
            "without_media": "asked",
            "kinds": "released",
        }
    },
    check=_fault,
    supposed=as_the_reference,
)
def ueval_rubric(
    trial: Trial,
    judge: Role,
    *,
    reading: Reading = "robust",
    without_media: WithoutMedia = "not_met",
    kinds: Kinds = "labels",
    lost: Lost = "unscored",
    text_prompt: TextPrompt = "ueval_text",
    image_open_prompt: OpenPrompt = "ueval_image_open",
    image_closed_prompt: ClosedPrompt = "ueval_image_closed",
) -> Program[MetricScores]:
    """The share of a row's criteria that the answer's text and its pictures meet.

    Two numbers from 0 to 1, higher is better. Each criterion has its own judge call.
    ``ueval_text`` is the share of met criteria in the label ``text_rubrics``, and
    ``ueval_image`` is the share in ``image_rubrics``. A side without criteria is
    inapplicable. For a text criterion the judge sees the question and the answer's
    text. For a picture criterion it sees the question and the pictures, and for an open
    question also the text. The judge does not see the position of a picture in the
    text. ``kinds: labels`` finds the kind of question by ``task`` or ``task_type``, or
    else by ``question_type``. ``kinds: released`` only uses ``task``, and treats
    questions of unknown tasks as open.

    The judge answers true, false or "not sure". "Not sure" counts as not met.
    ``reading: robust`` repeats the question after any other reply. ``reading:
    official`` reads like the released evaluator, where every value except yes means not
    met. A side is unscored, with bounds, if one of its criteria has no verdict. With
    ``lost: wrong`` the criterion is not met if there were replies but none was usable.
    ``without_media`` applies to an answer without text, or without a picture: the
    criteria of that side are ``not_met`` without a judge call, or ``asked``. Files that
    are not pictures are ignored. Evidence: ``criteria``, each with the verdict, the raw
    value and the reply; how many of the ``total`` are ``met``; how often the judge was
    ``not_sure``, replied with another value (``odd_value``), or gave no value
    (``missing_key``); the number of ``pictures``; and the ``kind`` of the question.

    Labels, for example: ``{"task": "art", "text_rubrics": ["it names a hare"],
    "image_rubrics": ["a hare is shown"]}``.
    """
    labels, output = trial.sample.metadata, trial.output
    if fault := row_fault(labels, kinds):
        return dict.fromkeys(OUTPUTS, Score.unscored(fault))
    if output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    prompts = {
        "text": text_prompt,
        "open": image_open_prompt,
        "closed": image_closed_prompt,
    }
    text, image = _sides(trial, output, kind_of(labels, kinds), prompts)
    form = criterion_form(reading)
    questions: list[Question] = []
    for side in (text, image):
        for criterion in side.to_ask(without_media):
            values = {**side.values, "criterion": criterion}
            questions.append(Question(judge, form, side.prompt, values))
    verdicts = yield from ask_verdicts(questions)
    split = len(text.to_ask(without_media))
    return {
        "ueval_text": _score(text, verdicts[:split], lost),
        "ueval_image": _score(image, verdicts[split:], lost),
    }


@dataclass(frozen=True)
class AnswerSide:
    """One side of an answer: its criteria, and what the judge sees.

    ``empty`` is true if the answer contains nothing for this side. ``not_requested`` is
    true if the model was not asked for this side. ``evidence`` is added to the score's
    evidence.
    """

    criteria: tuple[str, ...]
    prompt: PromptValue
    values: Material
    empty: bool
    not_requested: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_ask(self, without_media: WithoutMedia) -> tuple[str, ...]:
        """Returns the criteria that the judge is asked about."""
        if self.not_requested or (self.empty and without_media == "not_met"):
            return ()
        return self.criteria


def _sides(
    trial: Trial, output: Interleaved, kind: Kind, prompts: Mapping[str, PromptValue]
) -> tuple[AnswerSide, AnswerSide]:
    """Returns the text side and the picture side, with the values of their prompts."""
    labels, words = trial.sample.metadata, output.words
    pictures: list[Part] = []
    for part in output.parts:
        mime = part.media.mime if part.media else ""
        if part.kind == "image" and mime.startswith("image/"):
            pictures.append(part)
    text_values: Material = {
        "question": question_content(trial.sample),
        "answer": words,
    }
    image_values: Material = {**text_values, "pictures": Interleaved(tuple(pictures))}
    if kind == "closed":
        del image_values["answer"]
    text_criteria = criteria_of(labels, TEXT_CRITERIA)
    if PromptFile.of(prompts["text"]).released:
        is_cached = len(text_criteria) > 1
        text_values[CACHED] = "yes" if is_cached else ""
    if PromptFile.of(prompts[kind]).released:
        image_values[CACHED] = "yes" if pictures else ""
    text = AnswerSide(
        criteria=text_criteria,
        prompt=prompts["text"],
        values=text_values,
        empty=not words.strip(),
        not_requested="text" in trial.left_out,
    )
    image = AnswerSide(
        criteria=criteria_of(labels, IMAGE_CRITERIA),
        prompt=prompts[kind],
        values=image_values,
        empty=not pictures,
        not_requested="image" in trial.left_out,
        evidence={"pictures": len(pictures), "kind": kind},
    )
    return text, image


def _score(
    side: AnswerSide,
    verdicts: Sequence[Verdict],
    lost: Lost,
) -> Score:
    """Returns the score of one side.

    Without verdicts the judge was not asked, and no criterion is met.
    """
    if side.not_requested:
        return Score.inapplicable("the model was not asked for this side")
    if not side.criteria:
        return Score.inapplicable("the row has no criteria for this side")
    if not verdicts:
        rows: list[dict[str, Any]] = [
            {"criterion": criterion, "met": False} for criterion in side.criteria
        ]
        reason = "the answer has nothing on this side"
        return Score(0.0, evidence={"reason": reason, **_evidence(side, rows)})
    rows = []
    values: list[BoundedValue] = []
    unread = 0
    for criterion, verdict in zip(side.criteria, verdicts, strict=True):
        (vote,) = verdict.votes or ({},)
        row = {"criterion": criterion, "met": vote.get(KEY), **vote, **verdict.loss}
        row.pop(KEY, None)
        rows.append(row)
        if is_unknown(verdict, lost):
            values.append(unknown_value(verdict.lost, verdict.cause))
        else:
            values.append(known_value(bool(verdict.values.get(KEY))))
        unread += is_unread(verdict, lost)
    evidence = _evidence(side, rows)
    if unread:
        evidence[UNREAD] = unread
    return mean(values).scored(evidence)


def _evidence(side: AnswerSide, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    remarks = Counter(row.get("remark") for row in rows)
    return {
        "criteria": rows,
        "met": sum(row["met"] is True for row in rows),
        "total": len(rows),
        **{remark: remarks[remark] for remark in REMARKS},
        **side.evidence,
    }
