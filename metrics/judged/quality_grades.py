"""Grades of quality: how a judge is asked for the worth of each item of an answer, and the qualities that follow.

A metric has a :class:`Scale`. It says of each item what is asked about it, or what is known of it without asking, and
:func:`judged_together` asks for all of them at the same time:

    items = [("text1", Asked(Question(judge, GRADES.form, prompt, values)))]
    return (yield from judged_together(items, GRADES, repeats=repeats, combine=combine))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from mmeval.judge import (
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
    read_object,
)
from mmeval.metrics.judged.reading import UNREADABLE
from mmeval.metrics.judged.unim_grades import LOWEST, SCORE, score_form, share
from mmeval.metrics.quality.items import ItemScore, together
from mmeval.program import Program
from mmeval.records import Score

Rubric = Literal["grade", "dimensions"]
"""What a judge is asked about an item: one ``grade`` from 1 to 5, as the paper has it, or several ``dimensions`` with
an overall number, as the released scorer has it."""
RAW, REMARKS = "raw", "remarks"
"""Keys of an item's evidence: what a number beyond the scale would be worth, and what people should know besides."""
MAX_SHOWN_CHARS = 40_000
"""So much of a text or of code is shown to a judge; the evidence says where that was not all."""
_LARGEST = 1e9
"""A number beyond is a slip of the judge's, and no grade."""
_REASON = Text("reason")


# --- what is asked ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dimensions:
    """The numbers that the released scorer asks for beside the overall one; they are evidence and decide nothing."""

    names: tuple[str, ...]
    low: float
    high: float

    def asked(self) -> list[str]:
        return [f'"{name}": <{Number(name, self.low, self.high).asked()}>' for name in self.names]

    def read(self, found: Mapping[str, Any]) -> Vote:
        """Those that are there as numbers, on the scale or not."""
        numbers = ((name, _number(name, found.get(name))) for name in self.names)
        return {name: number for name, number in numbers if number is not None}


def _number(name: str, value: Any) -> float | None:
    try:
        return Number(name, -_LARGEST, _LARGEST, whole=False).read(value)
    except ReplyError:
        return None


@dataclass(frozen=True)
class DimensionsForm(ReplyForm):
    """Several dimensions and an overall number, which alone counts, as the judge reports it: nobody checks that it
    follows from the dimensions, or that it is at most ``most``. ``absent`` is what counts where a reply lacks it;
    without one such a reply does not fit, and with one the vote says that it was not read."""

    overall: str
    dimensions: Dimensions
    most: float
    absent: float | None = None

    @property
    def asked(self) -> str:
        whole = Number(self.overall, self.dimensions.low, self.most, whole=False)
        return "{" + ", ".join([*self.dimensions.asked(), f'"{self.overall}": <{whole.asked()}>']) + "}"

    def read(self, text: str) -> Vote:
        found = read_object(text, [self.overall] if self.absent is None else [])
        words = found.get(_REASON.name)
        said = {_REASON.name: _REASON.read(words)} if isinstance(words, str) else {}
        lacking = {UNREADABLE: True} if self.overall not in found else {}
        return {**said, **self.dimensions.read(found), self.overall: self._overall(found), **lacking}

    def _overall(self, found: Mapping[str, Any]) -> float:
        if self.overall not in found and self.absent is not None:
            return self.absent
        try:
            return Number(self.overall, -_LARGEST, _LARGEST, whole=False).read(found[self.overall])
        except ReplyError as error:
            raise ReplyError(f"{self.overall} {error}") from None


def dimensions_form(
    overall: str,
    dimensions: Dimensions,
    *,
    most: float | None = None,
    absent: float | None = None,
    kind: type[DimensionsForm] = DimensionsForm,
) -> DimensionsForm:
    """The reply that a released scorer asks for; the overall number is ``most`` at best, or what a dimension is."""
    fields = (_REASON, Number(overall, -_LARGEST, _LARGEST, whole=False))
    best = dimensions.high if most is None else most
    example = f'{{"{overall}": {best:g}}}'
    return kind(fields, overall=overall, dimensions=dimensions, most=best, absent=absent, example=example)


class Scale(NamedTuple):
    """How items are judged: the reply, the number in it that counts, and what share of the best that number is."""

    form: ReplyForm
    key: str
    worth: Callable[[float], float]


GRADES = Scale(score_form("robust"), SCORE, share)
"""One whole grade from 1 to 5 with a reason, worth ``(grade - 1) / 4``."""


# --- what follows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An item that the judge is asked about. ``seen`` stands in its evidence beside what the judge says."""

    question: Question
    seen: Mapping[str, Any] = field(default_factory=dict)


def judged_together(
    items: Sequence[tuple[str, ItemScore | Asked]], scale: Scale, *, repeats: int, combine: Combine
) -> Program[Score]:
    """The mean quality of items, each with its label: those that the judge is asked about, all at the same time, and
    those of which the quality is known without."""
    asked = [one for _, one in items if isinstance(one, Asked)]
    graded = yield from grade_questions([one.question for one in asked], scale, repeats=repeats, combine=combine)
    found = iter(_with_seen(one, score) for one, score in zip(asked, graded, strict=True))
    return together([(label, next(found) if isinstance(one, Asked) else one) for label, one in items])


def grade_questions(
    questions: Sequence[Question], scale: Scale, *, repeats: int, combine: Combine
) -> Program[list[ItemScore]]:
    """The quality of one item for each question, in their order; nobody is asked where there is none."""
    if not questions:
        return []
    verdicts = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    return [item_score(verdict, scale) for verdict in verdicts]


def item_score(verdict: Verdict, scale: Scale) -> ItemScore:
    """The quality that a verdict gives an item, from 0 to 1, or why it gives none. A number beyond the scale counts as
    its end; the evidence keeps what it would be worth, and says so. It also has how many replies (``UNREAD``) lack the
    number or go beyond its scale, of which a run warns."""
    one_vote = verdict.votes[0] if len(verdict.votes) == 1 else {}
    evidence = {**one_vote, **verdict.evidence}
    if why := verdict.unknown(scale.key):
        return ItemScore(None, {k: said for k, said in evidence.items() if k != _REASON.name}, why, verdict.cause)
    raw = scale.worth(verdict.values[scale.key])
    quality = min(1.0, max(0.0, raw))
    beyond = {RAW: raw, REMARKS: [f"{scale.key} is beyond the scale and counts as its end"]} if raw != quality else {}
    unfit = sum(1 for vote in verdict.votes if _is_unfit(vote, scale))
    said = {key: value for key, value in evidence.items() if key != UNREADABLE}
    return ItemScore(quality, {**said, **beyond, **({UNREAD: unfit} if unfit else {})})


def _is_unfit(vote: Vote, scale: Scale) -> bool:
    """Whether a reply counts although it lacks the number that counts, or gives one beyond the scale."""
    number = vote.get(scale.key)
    return bool(vote.get(UNREADABLE)) or (isinstance(number, int | float) and not 0 <= scale.worth(number) <= 1)


def lowest_grade(remark: str) -> ItemScore:
    """An item that nobody has to look at to know that it has the lowest grade."""
    return ItemScore(share(LOWEST), {SCORE: LOWEST, _REASON.name: remark})


def _with_seen(asked: Asked, score: ItemScore) -> ItemScore:
    remarks = [*asked.seen.get(REMARKS, ()), *score.evidence.get(REMARKS, ())]
    both = {**score.evidence, **asked.seen, **({REMARKS: remarks} if remarks else {})}
    return replace(score, evidence=both)


class Shown(NamedTuple):
    """The beginning of a text that a judge is shown, and its remarks for the evidence where that is not all."""

    text: str
    seen: Mapping[str, Any]

    @property
    def cut(self) -> bool:
        return bool(self.seen)


def shown_start(text: str, *, limit: int = MAX_SHOWN_CHARS) -> Shown:
    """As much of a text as a judge is shown."""
    if len(text) <= limit:
        return Shown(text, {})
    return Shown(text[:limit], {REMARKS: [f"the judge saw the first {limit:,} characters"]})
