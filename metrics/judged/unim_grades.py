"""UniM's grades: 1 to 5, how replies are read for them, and what they are worth.

``robust`` reads a JSON object as in the other metrics and refuses an unfit reply, after
which the judge is asked again. ``official`` reads what the authors' scripts read,
oddities included: the one for coherence is released
(``evaluation/interleaved_coherence``), that for semantic correctness is an earlier one
of the same author.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmeval.metric.judge import (
    MAX_TEXT_CHARS,
    Number,
    ReplyError,
    ReplyForm,
    Text,
    Verdict,
    Vote,
    read_object,
    strict_json,
)
from mmeval.metrics.judged.reading import UNREADABLE, ReadForm, Reading
from mmeval.program import Reply
from mmeval.records import Response, answered

LOWEST, HIGHEST = 1, 5
"""The ends of the scale."""
SCORE = "score"
HALF_SAID = "the reply lacks one of its grades: "
"""The beginning of the fault of a reply with some of its grades but not all."""
RAW = "raw"
"""The key of a vote for the number that the judge wrote where it differs from the
grade."""
_REASON = Text("reason")
_LARGEST = 1e9
"""A number beyond these is a mistake of the judge and not a grade."""


def share(grade: float) -> float:
    """A grade as a share of the scale: 1 is 0, 5 is 1."""
    return (grade - LOWEST) / (HIGHEST - LOWEST)


@dataclass(frozen=True)
class Grade:
    """A grade; ``whole`` ones are rounded, halves upwards. One beyond the scale counts
    as its end: the judge means best or worst. A text that spells a number is one."""

    name: str
    whole: bool = True
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return Number(self.name, LOWEST, HIGHEST).asked()

    def written(self, value: Any) -> float:
        """The number as the judge wrote it. Raises ReplyError."""
        try:
            return Number(self.name, -_LARGEST, _LARGEST, whole=False).read(value)
        except ReplyError:
            raise ReplyError(f"is not {self.asked()}") from None

    def read(self, value: Any) -> float:
        number = self.written(value)
        if self.whole:
            number = math.floor(number + 0.5)
        return min(HIGHEST, max(LOWEST, number))


# --- semantic correctness -------------------------------------------------------------


@dataclass(frozen=True)
class StatedGradeForm(ReplyForm):
    """One grade without reasons, read as the author's earlier script does."""

    @property
    def asked(self) -> str:
        return _without_reasons(self)

    @property
    def reads_refusals(self) -> bool:
        return True

    def read(self, text: str) -> Vote:
        grade = stated_grade(text)
        if grade is None:
            raise ReplyError(f"the reply states no grade from {LOWEST} to {HIGHEST}")
        return {_REASON.name: text[:MAX_TEXT_CHARS], SCORE: grade}


def score_form(reading: Reading) -> ReplyForm:
    """The reply about semantic correctness: reasons and one grade."""
    kind = StatedGradeForm if reading == "official" else ReplyForm
    return kind((_REASON, Number(SCORE, LOWEST, HIGHEST)), example='{"score": 3}')


def _without_reasons(form: ReplyForm) -> str:
    grades = [one for one in form.fields if not isinstance(one, Text)]
    return ReplyForm(tuple(grades)).asked


def stated_grade(text: str) -> int | None:
    """The grade under ``score`` where that is a whole number of the scale. Else,
    official oddity: the first digit 1 to 5 that stands alone anywhere: "out of 5: 3" is
    a 5 and "4.7" a 4."""
    found = strict_json(text)
    value: Any = found.get(SCORE) if isinstance(found, dict) else None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and value in range(LOWEST, HIGHEST + 1):
        return int(value)
    digit = re.search(r"\b[1-5]\b", text)
    if digit is None:
        return None
    return int(digit[0])


# --- coherence and style --------------------------------------------------------------


@dataclass(frozen=True)
class GradesForm(ReadForm):
    """Several grades in one object. With ``takes_all`` every reply counts except an
    empty one; else all grades must be there."""

    takes_all: bool = False

    @property
    def asked(self) -> str:
        if self.reading == "official":
            return _without_reasons(self)
        return super().asked

    def fault(self, response: Response) -> str:
        if self.takes_all:
            if response.is_refused or response.text.strip():
                return ""
            return "the reply is empty"
        faults = {form.grade.name: form.fault(response) for form in self.of_each()}
        lacking = [f"{name}: {fault}" for name, fault in faults.items() if fault]
        if not lacking:
            return ""
        if len(lacking) == len(faults):
            return next(iter(faults.values()))
        return f"{HALF_SAID}{lacking[0]}"

    def part_fault(self, response: Response) -> str:
        """For ``Call.accept``: the fault of a reply where some of the grades
        suffice."""
        faults = [form.fault(response) for form in self.of_each()]
        if all(faults):
            return faults[0]
        return ""

    def of_each(self, *, lowest: bool = False) -> list[OneGradeForm]:
        """A form for each single grade, over the same replies."""
        forms: list[OneGradeForm] = []
        for grade in self.fields:
            if isinstance(grade, Grade):
                fields = (_REASON, grade)
                form = OneGradeForm(
                    fields, grade=grade, reading=self.reading, lowest=lowest
                )
                forms.append(form)
        return forms


@dataclass(frozen=True)
class OneGradeForm(ReadForm):
    """One grade of a reply that may hold several. With ``lowest`` a reply without it is
    the lowest grade, as released, and the vote says that it was not read."""

    grade: Grade = field(kw_only=True)
    lowest: bool = False

    def read_reply(self, response: Response) -> Vote:
        if self.lowest:  # whatever the reply is
            return self.read(response.text)
        return super().read_reply(response)

    def read(self, text: str) -> Vote:
        try:
            return self._read(text)
        except ReplyError:
            if self.lowest:
                return {
                    _REASON.name: text[:MAX_TEXT_CHARS],
                    self.grade.name: LOWEST,
                    UNREADABLE: True,
                }
            raise

    def _read(self, text: str) -> Vote:
        name = self.grade.name
        found: Any
        if self.reading == "robust":
            found = read_object(text, [name], optional=[_REASON.name])
        else:
            found = strict_json(unfenced(text))
        if not isinstance(found, Mapping):
            raise ReplyError("the reply is no JSON object")
        if name not in found:
            raise ReplyError(f"the reply's JSON lacks {name!r}")
        value = found[name]
        try:
            grade, written = self.grade.read(value), self.grade.written(value)
        except ReplyError as error:
            raise ReplyError(f"{name} {error}") from None
        vote: dict[str, Any] = {}
        reason = found.get(_REASON.name)
        if isinstance(reason, str):
            vote[_REASON.name] = reason[:MAX_TEXT_CHARS]
        vote[name] = grade
        if written != grade:
            vote[RAW] = value
        return vote


def grades_form(
    names: Sequence[str], reading: Reading, *, takes_all: bool
) -> GradesForm:
    """The reply about some grades; the release asks for no reasons, nor does it
    round."""
    whole = reading == "robust"
    grades = [Grade(name, whole=whole) for name in names]
    example = "{" + ", ".join(f'"{name}": 3' for name in names) + "}"
    return GradesForm(
        (_REASON, *grades), example=example, reading=reading, takes_all=takes_all
    )


def unfenced(text: str) -> str:
    """The reply without the fence that the release removes. Official oddity: three
    backticks and ``json`` at the very start, and three backticks at the very end, are
    removed independently; with prose before them, or a bare fence, there is no JSON."""
    return text.strip().removeprefix("```json").removesuffix("```").strip()


def is_half_said(reply: Reply) -> bool:
    """Whether a failed call has a reply with some of its grades."""
    error = reply.response.error
    return (
        error is not None
        and error.kind == "bad_reply"
        and error.message.startswith(HALF_SAID)
    )


def as_empty(reply: Reply) -> Reply:
    """A failed call's unreadable reply as empty; any other or missing one as it is."""
    error = reply.response.error
    if error is None or error.kind != "bad_reply":
        return reply
    return Reply(answered(()), reply.path)


def raw_votes(verdict: Verdict) -> list[Any]:
    """The numbers that were written instead of grades of the scale."""
    return [vote[RAW] for vote in verdict.votes if RAW in vote]
