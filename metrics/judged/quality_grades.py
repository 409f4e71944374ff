"""Quality grades: a judge grades each item, and grades become qualities (0 to 1).

A metric uses a :class:`GradeScale`. For each item the metric makes a question, or a
score if no judge call is needed. :func:`judged_together` asks all questions at the same
time:

    items = [("text1", ItemQuestion(Question(judge, GRADES.form, prompt, values)))]
    return (yield from judged_together(items, GRADES, repeats=repeats, combine=combine))
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from mmeval.metric.judge import (
    UNREAD,
    Combine,
    Number,
    Question,
    ReplyError,
    ReplyForm,
    Text,
    Verdict,
    Vote,
    ask_verdicts,
    strict_json,
)
from mmeval.metrics.judged.reading import UNREADABLE
from mmeval.metrics.judged.unim_grades import LOWEST, SCORE, score_form, share
from mmeval.metrics.quality.items import ItemScore, together
from mmeval.program import Program
from mmeval.records import Score

Rubric = Literal["grade", "dimensions"]
"""What a judge reports for an item: one ``grade`` from 1 to 5 as in the paper, or
several ``dimensions`` and an overall number as in the released scorer."""
RAW, REMARKS = "raw", "remarks"
"""Keys of an item's evidence: its quality before clamping, and remarks."""
MAX_SHOWN_CHARS = 40_000
"""Maximum number of characters of a text or code that a judge sees. The evidence
reports a cut."""
_LARGEST = 1e9
"""A number beyond these bounds is a mistake of the judge, not a grade."""
_REASON = Text("reason")


# --- forms of replies -----------------------------------------------------------------


@dataclass(frozen=True)
class Dimensions:
    """The numbers in a released scorer's reply, without the overall number.

    These numbers are only used as evidence.
    """

    names: tuple[str, ...]
    low: float
    high: float

    def asked(self) -> list[str]:
        wording = Number("", self.low, self.high).asked()
        return [f'"{name}": <{wording}>' for name in self.names]

    def read(self, reply: Mapping[str, Any]) -> Vote:
        """Returns the dimensions that are numbers, even beyond the scale."""
        numbers: dict[str, float] = {}
        for name in self.names:
            number = Number(name, -_LARGEST, _LARGEST, whole=False)
            with contextlib.suppress(ReplyError):
                numbers[name] = number.read(reply.get(name))
        return numbers


@dataclass(frozen=True)
class DimensionsForm(ReplyForm):
    """Several dimensions and an overall number. Only the overall number is used.

    The overall number is used as reported and is not checked against the dimensions or
    ``most``. If a reply lacks the number, ``absent`` is used instead and the vote is
    marked as unreadable. Without ``absent`` such a reply is rejected. As in the
    release, a reply that is not bare JSON (for example JSON in a fence) is rejected.
    With ``quotable`` a number in quotes is accepted, since the released script passes
    the number on. Without ``quotable`` a number in quotes is rejected, since the
    released script computes with the number.
    """

    overall: str
    dimensions: Dimensions
    most: float
    absent: float | None = None
    quotable: bool = False

    @property
    def asked(self) -> str:
        whole = Number(self.overall, self.dimensions.low, self.most, whole=False)
        fields = [*self.dimensions.asked(), f'"{self.overall}": <{whole.asked()}>']
        return "{" + ", ".join(fields) + "}"

    def read(self, text: str) -> Vote:
        reply = self.object_in(text)
        vote: dict[str, Any] = {}
        reason = reply.get(_REASON.name)
        if isinstance(reason, str):
            vote[_REASON.name] = _REASON.read(reason)
        vote |= self.dimensions.read(reply)
        if self.overall in reply:
            value = reply[self.overall]
            if isinstance(value, str) and not self.quotable:
                raise ReplyError(f"{self.overall} is in quotes")
            number = Number(self.overall, -_LARGEST, _LARGEST, whole=False)
            try:
                vote[self.overall] = number.read(value)
            except ReplyError as error:
                raise ReplyError(f"{self.overall} {error}") from None
        elif self.absent is not None:
            vote |= {self.overall: self.absent, UNREADABLE: True}
        else:
            raise ReplyError(f"the reply's JSON lacks {self.overall!r}")
        return vote

    @staticmethod
    def object_in(text: str) -> Mapping[str, Any]:
        """Returns a reply's JSON object.

        Raises ReplyError if the reply is anything else.
        """
        reply = strict_json(text)
        if not isinstance(reply, dict):
            raise ReplyError("the reply is not one JSON object and nothing else")
        return reply


def dimensions_form(
    overall: str,
    dimensions: Dimensions,
    *,
    most: float | None = None,
    absent: float | None = None,
    quotable: bool = False,
    kind: type[DimensionsForm] = DimensionsForm,
) -> DimensionsForm:
    """Returns the form of a released scorer's reply.

    The overall number is at most ``most``. The default is the maximum of a dimension.
    """
    fields = (_REASON, Number(overall, -_LARGEST, _LARGEST, whole=False))
    maximum = dimensions.high if most is None else most
    example = f'{{"{overall}": {maximum:g}}}'
    return kind(
        fields,
        overall=overall,
        dimensions=dimensions,
        most=maximum,
        absent=absent,
        quotable=quotable,
        example=example,
    )


class GradeScale(NamedTuple):
    """How items are graded.

    ``form`` is the form of the reply, and ``key`` is the key of the number that is
    used. ``share_of`` maps this number to a share from 0 (worst) to 1 (best).
    """

    form: ReplyForm
    key: str
    share_of: Callable[[float], float]


GRADES = GradeScale(score_form("robust"), SCORE, share)
"""One whole grade from 1 to 5 with a reason. Its share is ``(grade - 1) / 4``."""


# --- scores of items ------------------------------------------------------------------


@dataclass(frozen=True)
class ItemQuestion:
    """An item for the judge. ``evidence`` is added to the evidence of its verdict."""

    question: Question
    evidence: Mapping[str, Any] = field(default_factory=dict)


def judged_together(
    items: Sequence[tuple[str, ItemScore | ItemQuestion]],
    scale: GradeScale,
    *,
    repeats: int,
    combine: Combine,
) -> Program[Score]:
    """Scores the mean quality of labelled items. All questions are asked at once."""
    questions: list[Question] = []
    for _, item in items:
        if isinstance(item, ItemQuestion):
            questions.append(item.question)
    graded = yield from grade_questions(
        questions, scale, repeats=repeats, combine=combine
    )
    scores: list[tuple[str, ItemScore]] = []
    for label, item in items:
        if isinstance(item, ItemScore):
            scores.append((label, item))
            continue
        score = graded.pop(0)
        evidence = {**score.evidence, **item.evidence}
        remarks = list(item.evidence.get(REMARKS, ()))
        remarks += score.evidence.get(REMARKS, ())
        if remarks:
            evidence[REMARKS] = remarks
        scores.append((label, replace(score, evidence=evidence)))
    return together(scores)


def grade_questions(
    questions: Sequence[Question], scale: GradeScale, *, repeats: int, combine: Combine
) -> Program[list[ItemScore]]:
    """Returns the quality of one item per question, in order."""
    if not questions:
        return []
    verdicts = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    return [item_score(verdict, scale) for verdict in verdicts]


def item_score(verdict: Verdict, scale: GradeScale) -> ItemScore:
    """Returns the quality of an item from 0 to 1, or why it is unscored.

    A number beyond the scale is clamped to the end of the scale, and the evidence
    contains the quality before clamping as ``raw``. ``UNREAD`` in the evidence counts
    the replies without a number or with a number beyond the scale. A run warns about
    them.
    """
    evidence = dict(verdict.evidence)
    if len(verdict.votes) == 1:
        evidence = {**verdict.votes[0], **evidence}
    if why := verdict.unknown(scale.key):
        evidence.pop(_REASON.name, None)
        return ItemScore(None, evidence, why, verdict.cause)
    evidence.pop(UNREADABLE, None)
    raw = scale.share_of(verdict.values[scale.key])
    quality = min(1.0, max(0.0, raw))
    if raw != quality:
        evidence[RAW] = raw
        evidence[REMARKS] = [f"{scale.key} is beyond the scale and counts as its end"]
    unfit = 0
    for vote in verdict.votes:
        number = vote.get(scale.key)
        is_beyond = (
            isinstance(number, int | float) and not 0 <= scale.share_of(number) <= 1
        )
        unfit += is_beyond or bool(vote.get(UNREADABLE))
    if unfit:
        evidence[UNREAD] = unfit
    return ItemScore(quality, evidence)


def lowest_grade(remark: str) -> ItemScore:
    """Returns the lowest grade, for an item that does not need the judge."""
    return ItemScore(share(LOWEST), {SCORE: LOWEST, _REASON.name: remark})


class ShownText(NamedTuple):
    """The beginning of a text, and a remark in ``evidence`` if the text was cut."""

    text: str
    evidence: Mapping[str, Any]

    @property
    def cut(self) -> bool:
        return bool(self.evidence)


def shown_start(text: str) -> ShownText:
    """Returns the part of a text that a judge sees."""
    if len(text) <= MAX_SHOWN_CHARS:
        return ShownText(text, {})
    remark = f"the judge saw the first {MAX_SHOWN_CHARS:,} characters"
    return ShownText(text[:MAX_SHOWN_CHARS], {REMARKS: [remark]})
