"""Grades of quality: asks a judge about each item, and makes qualities of grades.

A metric has a :class:`Scale`. For each item it gives a question, or the score that is
known without asking, and :func:`judged_together` asks all questions at the same time:

    items = [("text1", Asked(Question(judge, GRADES.form, prompt, values)))]
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
"""What a judge is asked about an item: one ``grade`` from 1 to 5 as in the paper, or
several ``dimensions`` with an overall number as in the released scorer."""
RAW, REMARKS = "raw", "remarks"
"""Keys of an item's evidence: the value of a number beyond the scale, and remarks for
people."""
MAX_SHOWN_CHARS = 40_000
"""The most characters of a text or code that a judge is shown; the evidence says where
there were more."""
_LARGEST = 1e9
"""A number beyond these is a mistake of the judge and not a grade."""
_REASON = Text("reason")


# --- what is asked --------------------------------------------------------------------


@dataclass(frozen=True)
class Dimensions:
    """The numbers a released scorer asks for besides the overall one: only evidence."""

    names: tuple[str, ...]
    low: float
    high: float

    def asked(self) -> list[str]:
        asked = Number("", self.low, self.high).asked()
        return [f'"{name}": <{asked}>' for name in self.names]

    def read(self, found: Mapping[str, Any]) -> Vote:
        """The dimensions that are numbers, on the scale or not."""
        numbers: dict[str, float] = {}
        for name in self.names:
            number = Number(name, -_LARGEST, _LARGEST, whole=False)
            with contextlib.suppress(ReplyError):
                numbers[name] = number.read(found.get(name))
        return numbers


@dataclass(frozen=True)
class DimensionsForm(ReplyForm):
    """Several dimensions and an overall number, which alone counts. It counts as
    reported, unchecked against the dimensions or ``most``. ``absent`` counts where a
    reply lacks the number, and the vote says that it was not read; without ``absent``
    such a reply is refused. As in the release, so is a reply that is more than JSON,
    such as one in a fence. ``quotable``: a number in quotes counts, where the release
    hands it on as it stands; it is refused where the release computes with it."""

    overall: str
    dimensions: Dimensions
    most: float
    absent: float | None = None
    quotable: bool = False

    @property
    def asked(self) -> str:
        whole = Number(self.overall, self.dimensions.low, self.most, whole=False)
        asked = [*self.dimensions.asked(), f'"{self.overall}": <{whole.asked()}>']
        return "{" + ", ".join(asked) + "}"

    def read(self, text: str) -> Vote:
        found = self.object_in(text)
        vote: dict[str, Any] = {}
        words = found.get(_REASON.name)
        if isinstance(words, str):
            vote[_REASON.name] = _REASON.read(words)
        vote |= self.dimensions.read(found)
        if self.overall in found:
            value = found[self.overall]
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
        """The object that a reply is. Raises ReplyError for any other reply."""
        found = strict_json(text)
        if not isinstance(found, dict):
            raise ReplyError("the reply is not one JSON object and nothing else")
        return found


def dimensions_form(
    overall: str,
    dimensions: Dimensions,
    *,
    most: float | None = None,
    absent: float | None = None,
    quotable: bool = False,
    kind: type[DimensionsForm] = DimensionsForm,
) -> DimensionsForm:
    """A released scorer's reply; overall is at most ``most``, or a dimension's
    range."""
    fields = (_REASON, Number(overall, -_LARGEST, _LARGEST, whole=False))
    best = dimensions.high if most is None else most
    example = f'{{"{overall}": {best:g}}}'
    return kind(
        fields,
        overall=overall,
        dimensions=dimensions,
        most=best,
        absent=absent,
        quotable=quotable,
        example=example,
    )


class Scale(NamedTuple):
    """How items are judged: reply form, number that counts, its share of the best."""

    form: ReplyForm
    key: str
    worth: Callable[[float], float]


GRADES = Scale(score_form("robust"), SCORE, share)
"""One whole grade from 1 to 5 with a reason, worth ``(grade - 1) / 4``."""


# --- what follows ---------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An item to ask the judge about; ``seen`` is added to its verdict's evidence."""

    question: Question
    seen: Mapping[str, Any] = field(default_factory=dict)


def judged_together(
    items: Sequence[tuple[str, ItemScore | Asked]],
    scale: Scale,
    *,
    repeats: int,
    combine: Combine,
) -> Program[Score]:
    """The mean quality of items with their labels. The judge is asked about some, all
    at the same time; the quality of the others is known."""
    asked = [one.question for _, one in items if isinstance(one, Asked)]
    graded = yield from grade_questions(asked, scale, repeats=repeats, combine=combine)
    scores: list[tuple[str, ItemScore]] = []
    for label, one in items:
        if isinstance(one, ItemScore):
            scores.append((label, one))
            continue
        score = graded.pop(0)
        evidence = {**score.evidence, **one.seen}
        remarks = list(one.seen.get(REMARKS, ()))
        remarks += score.evidence.get(REMARKS, ())
        if remarks:
            evidence[REMARKS] = remarks
        scores.append((label, replace(score, evidence=evidence)))
    return together(scores)


def grade_questions(
    questions: Sequence[Question], scale: Scale, *, repeats: int, combine: Combine
) -> Program[list[ItemScore]]:
    """The quality of one item for each question, in their order."""
    if not questions:
        return []
    verdicts = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    return [item_score(verdict, scale) for verdict in verdicts]


def item_score(verdict: Verdict, scale: Scale) -> ItemScore:
    """The quality of an item by its verdict, from 0 to 1, or why there is none. A
    number beyond the scale counts as its end; the evidence says so and keeps its value.
    It also counts the replies that lack the number or go beyond its scale (``UNREAD``),
    of which a run warns."""
    evidence = dict(verdict.evidence)
    if len(verdict.votes) == 1:
        evidence = {**verdict.votes[0], **evidence}
    if why := verdict.unknown(scale.key):
        evidence.pop(_REASON.name, None)
        return ItemScore(None, evidence, why, verdict.cause)
    evidence.pop(UNREADABLE, None)
    raw = scale.worth(verdict.values[scale.key])
    quality = min(1.0, max(0.0, raw))
    if raw != quality:
        evidence[RAW] = raw
        evidence[REMARKS] = [f"{scale.key} is beyond the scale and counts as its end"]
    unfit = 0
    for vote in verdict.votes:
        number = vote.get(scale.key)
        is_beyond = (
            isinstance(number, int | float) and not 0 <= scale.worth(number) <= 1
        )
        unfit += is_beyond or bool(vote.get(UNREADABLE))
    if unfit:
        evidence[UNREAD] = unfit
    return ItemScore(quality, evidence)


def lowest_grade(remark: str) -> ItemScore:
    """The lowest grade for an item that needs no judge."""
    return ItemScore(share(LOWEST), {SCORE: LOWEST, _REASON.name: remark})


class Shown(NamedTuple):
    """The shown beginning of a text, and remarks for the evidence where it was cut."""

    text: str
    seen: Mapping[str, Any]

    @property
    def cut(self) -> bool:
        return bool(self.seen)


def shown_start(text: str) -> Shown:
    """The part of a text that a judge is shown."""
    if len(text) <= MAX_SHOWN_CHARS:
        return Shown(text, {})
    remark = f"the judge saw the first {MAX_SHOWN_CHARS:,} characters"
    return Shown(text[:MAX_SHOWN_CHARS], {REMARKS: [remark]})
