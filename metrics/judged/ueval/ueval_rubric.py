"""UEval's rubric: the share of a row's criteria that a judge finds met, of the text and of the pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

from mmeval.content import Interleaved, Part
from mmeval.judge import UNREAD, Question, Verdict, ask_verdicts
from mmeval.metric import MetricScores, metric
from mmeval.metrics.judged.material import Material, as_the_reference, asked_of
from mmeval.metrics.judged.pictures.asking import Lost, Written
from mmeval.metrics.judged.pictures.worth import Worth, mean, unknown, worth
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.judged.ueval.replies import KEY, met_form
from mmeval.metrics.judged.ueval.rows import IMAGE_CRITERIA, TEXT_CRITERIA, Kinds, criteria_of, kind_of, row_fault
from mmeval.program import JudgePrompt, Program, Role
from mmeval.records import Sample, Score, Trial

OUTPUTS = ("ueval_text", "ueval_image")
WithoutMedia = Literal["not_met", "asked"]
"""What the criteria of a side are where the answer has no text, or no picture: not met without a call, or asked."""
REMARKS = ("not_sure", "odd_value", "missing_key")
"""What is counted of the replies (see ``replies.Remark``)."""
TextPrompt: TypeAlias = Annotated[Written, JudgePrompt("question", "answer", "criterion")]
OpenPrompt: TypeAlias = Annotated[Written, JudgePrompt("question", "answer", "criterion", "pictures")]
ClosedPrompt: TypeAlias = Annotated[Written, JudgePrompt("question", "criterion", "pictures")]


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    return row_fault(sample.metadata, switches["kinds"])


@metric(
    range=(0, 1),
    version="1",
    source="UEval, sections 3 and 4; official: its released evaluator",
    outputs=OUTPUTS,
    profiles={"official": {"reading": "official", "without_media": "asked", "kinds": "released"}},
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

    Two numbers from 0 to 1, higher is better. Each criterion is asked about by itself: ``ueval_text`` is the share of
    the label ``text_rubrics`` that the judge finds met, ``ueval_image`` that of ``image_rubrics``; a side without
    criteria is inapplicable. About the text the judge sees the question and the answer's text; about the pictures the
    question, the pictures and, of an open question, the text, too. Where in the text a picture stands is not shown.
    ``kinds`` is where the kind of question is taken from: ``labels`` is ``task`` or ``task_type``, or else
    ``question_type``; ``released`` is ``task`` alone, and open for what it does not know.

    The judge says true, false or "not sure", which is not met. ``reading: robust`` asks again after any other reply;
    ``official`` reads as the released evaluator does, where everything but a yes is not met. A criterion without a
    verdict leaves its side unscored, with bounds; ``lost: wrong`` counts one as not met where replies came that could
    not be used. ``without_media`` is for an answer without text, or without a picture: its criteria of that side are
    ``not_met`` without a call, or ``asked`` about. A file that is no picture is none. Evidence: ``criteria``, each with
    the verdict, the raw value and the reply; how many are ``met`` of the ``total``, and how many are not because the
    judge is ``not_sure``, or said something else (``odd_value``) or nothing (``missing_key``).
    """
    labels, output = trial.sample.metadata, trial.output
    if fault := row_fault(labels, kinds):
        return dict.fromkeys(OUTPUTS, Score.unscored(fault))
    if output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    text = output.words
    pictures = tuple(part for part in output.parts if _is_picture(part))
    closed = kind_of(labels, kinds) == "closed"
    question: Material = {"question": asked_of(trial.sample)}
    shown: Material = {**question, "pictures": Interleaved(pictures), **({} if closed else {"answer": text})}
    image_prompt = image_closed_prompt if closed else image_open_prompt
    sides = (
        Side(TEXT_CRITERIA, text_prompt, {**question, "answer": text}, has_content=bool(text.strip())),
        Side(IMAGE_CRITERIA, image_prompt, shown, has_content=bool(pictures)),
    )
    form = met_form(reading)
    asked = [side.criteria(labels) if side.has_content or without_media == "asked" else () for side in sides]
    questions = [
        Question(judge, form, side.prompt, {**side.values, "criterion": criterion})
        for side, criteria in zip(sides, asked, strict=True)
        for criterion in criteria
    ]
    verdicts = (yield from ask_verdicts(questions)) if questions else []
    split = len(asked[0])
    found = (verdicts[:split], verdicts[split:])
    scores = [_score(side.criteria(labels), own, lost) for side, own in zip(sides, found, strict=True)]
    scores[1] = replace(scores[1], evidence={**scores[1].evidence, "pictures": len(pictures)})
    return dict(zip(OUTPUTS, scores, strict=True))


@dataclass(frozen=True)
class Side:
    """One side of an answer: the label of its criteria, the prompt about it, and what that shows."""

    label: str
    prompt: Written
    values: Material
    has_content: bool

    def criteria(self, labels: Mapping[str, Any]) -> tuple[str, ...]:
        return criteria_of(labels, self.label)


def _is_picture(part: Part) -> bool:
    return part.kind == "image" and part.media is not None and part.media.mime.startswith("image/")


def _score(criteria: Sequence[str], verdicts: Sequence[Verdict], lost: Lost) -> Score:
    """The score of one side; without verdicts the judge was not asked, and no criterion is met."""
    if not criteria:
        return Score.inapplicable("the row has no criteria for this side")
    if not verdicts:
        rows: list[dict[str, Any]] = [{"criterion": one, "met": False} for one in criteria]
        said = {"reason": "the answer has nothing on this side", "criteria": rows}
        return Score(0.0, evidence={**said, **_counts(criteria, 0, {})})
    rows = [_evidence(one, verdict) for one, verdict in zip(criteria, verdicts, strict=True)]
    values = [_worth(verdict, lost) for verdict in verdicts]
    remarks = Counter(vote.get("remark") for verdict in verdicts for vote in verdict.votes)
    unread = sum(bool(verdict.lost) and one.known for verdict, one in zip(verdicts, values, strict=True))
    unread += remarks["odd_value"] + remarks["missing_key"]
    counts = _counts(criteria, sum(verdict.values.get(KEY, False) for verdict in verdicts), remarks)
    return mean(values).scored({"criteria": rows, **counts, **({UNREAD: unread} if unread else {})})


def _worth(verdict: Verdict, lost: Lost) -> Worth:
    if not verdict.lost:
        return worth(verdict.values[KEY])
    return worth(0) if lost == "wrong" and verdict.replied else unknown(verdict.lost, verdict.cause)


def _counts(criteria: Sequence[str], met: int, remarks: Mapping[str | None, int]) -> dict[str, int]:
    return {"met": met, "total": len(criteria), **{remark: remarks.get(remark, 0) for remark in REMARKS}}


def _evidence(criterion: str, verdict: Verdict) -> dict[str, Any]:
    (vote,) = verdict.votes or ({},)
    said = {name: value for name, value in vote.items() if name != KEY}
    lacking = {"lost": verdict.lost} if verdict.lost else {}
    return {"criterion": criterion, "met": verdict.values.get(KEY), **said, **lacking}
