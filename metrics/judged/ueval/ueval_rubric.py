"""UEval's rubric: the share of a row's criteria that a judge finds met, of the text and
of the pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from mmeval.media import Interleaved, Part
from mmeval.metric import MetricScores, metric
from mmeval.metric.judge import UNREAD, Question, Verdict, ask_verdicts
from mmeval.metrics.judged.material import Material, as_the_reference, asked_of
from mmeval.metrics.judged.pictures.worth import Worth, mean, unknown, worth
from mmeval.metrics.judged.reading import Lost, Reading, is_unknown, is_unread
from mmeval.metrics.judged.ueval.replies import KEY, REMARKS, met_form
from mmeval.metrics.judged.ueval.rows import (
    IMAGE_CRITERIA,
    TEXT_CRITERIA,
    Kind,
    Kinds,
    criteria_of,
    kind_of,
    row_fault,
)
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Sample, Score, Trial

OUTPUTS = ("ueval_text", "ueval_image")
WithoutMedia = Literal["not_met", "asked"]
"""What the criteria of a side are where the answer has no text, or no picture: not met
without a call, or asked."""
TextPrompt = Annotated[Written, JudgePrompt("question", "answer", "criterion")]
OpenPrompt = Annotated[
    Written, JudgePrompt("question", "answer", "criterion", "pictures")
]
ClosedPrompt = Annotated[Written, JudgePrompt("question", "criterion", "pictures")]


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
    """The share of a row's criteria that are met: of its text, and of its pictures.

    Two numbers from 0 to 1, higher is better. Each criterion is asked about by itself:
    ``ueval_text`` is the share of the label ``text_rubrics`` that the judge finds met,
    ``ueval_image`` that of ``image_rubrics``; a side without criteria is inapplicable.
    About the text the judge sees the question and the answer's text; about the pictures
    the question, the pictures and, of an open question, the text, too. Where in the
    text a picture stands is not shown. ``kinds`` is where the kind of question is taken
    from: ``labels`` is ``task`` or ``task_type``, or else ``question_type``;
    ``released`` is ``task`` alone, and open for what it does not know.

    The judge says true, false or "not sure", which is not met. ``reading: robust`` asks
    again after any other reply; ``official`` reads as the released evaluator does,
    where everything but a yes is not met. A criterion without a verdict leaves its side
    unscored, with bounds; ``lost: wrong`` counts one as not met where replies came that
    could not be used. ``without_media`` is for an answer without text, or without a
    picture: its criteria of that side are ``not_met`` without a call, or ``asked``
    about. A file that is not a picture is ignored. Evidence: ``criteria``, each with
    the verdict, the raw value and the reply; how many are ``met`` of the ``total``, and
    how many are not because the judge is ``not_sure``, or said something else
    (``odd_value``) or nothing (``missing_key``); of the pictures their number and the
    ``kind`` of the question.
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
    form = met_form(reading)
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
class Side:
    """One side of an answer: its criteria, the prompt about it, and what that shows.
    ``empty``: the answer has nothing there; ``unasked``: the model was not asked for
    it. ``noted`` is evidence."""

    criteria: tuple[str, ...]
    prompt: Written
    values: Material
    empty: bool
    unasked: bool
    noted: Mapping[str, Any] = field(default_factory=dict)

    def to_ask(self, without_media: WithoutMedia) -> tuple[str, ...]:
        """The criteria that the judge is asked about."""
        if self.unasked or (self.empty and without_media == "not_met"):
            return ()
        return self.criteria


def _sides(
    trial: Trial, output: Interleaved, kind: Kind, prompts: Mapping[str, Written]
) -> tuple[Side, Side]:
    """The text of an answer, and its pictures; each with what its prompt shows and
    nothing else."""
    labels, words = trial.sample.metadata, output.words
    pictures: list[Part] = []
    for part in output.parts:
        mime = part.media.mime if part.media else ""
        if part.kind == "image" and mime.startswith("image/"):
            pictures.append(part)
    text_values: Material = {"question": asked_of(trial.sample), "answer": words}
    image_values: Material = {**text_values, "pictures": Interleaved(tuple(pictures))}
    if kind == "closed":
        del image_values["answer"]
    text = Side(
        criteria=criteria_of(labels, TEXT_CRITERIA),
        prompt=prompts["text"],
        values=text_values,
        empty=not words.strip(),
        unasked="text" in trial.left_out,
    )
    image = Side(
        criteria=criteria_of(labels, IMAGE_CRITERIA),
        prompt=prompts[kind],
        values=image_values,
        empty=not pictures,
        unasked="image" in trial.left_out,
        noted={"pictures": len(pictures), "kind": kind},
    )
    return text, image


def _score(
    side: Side,
    verdicts: Sequence[Verdict],
    lost: Lost,
) -> Score:
    """The score of one side; without verdicts the judge was not asked, and no criterion
    is met."""
    if side.unasked:
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
    values: list[Worth] = []
    unread = 0
    for criterion, verdict in zip(side.criteria, verdicts, strict=True):
        (vote,) = verdict.votes or ({},)
        row = {"criterion": criterion, "met": vote.get(KEY), **vote, **verdict.loss}
        row.pop(KEY, None)
        rows.append(row)
        if is_unknown(verdict, lost):
            values.append(unknown(verdict.lost, verdict.cause))
        else:
            values.append(worth(bool(verdict.values.get(KEY))))
        unread += is_unread(verdict, lost)
    evidence = _evidence(side, rows)
    if unread:
        evidence[UNREAD] = unread
    return mean(values).scored(evidence)


def _evidence(side: Side, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    remarks = Counter(row.get("remark") for row in rows)
    return {
        "criteria": rows,
        "met": sum(row["met"] is True for row in rows),
        "total": len(rows),
        **{remark: remarks[remark] for remark in REMARKS},
        **side.noted,
    }
