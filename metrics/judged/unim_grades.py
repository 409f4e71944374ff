"""Reads UniM's grades from 1 to 5 in replies, and converts them to shares.

``robust`` reads a JSON object as in other metrics. An unusable reply is rejected, and
the judge is asked again. ``official`` reads like the authors' scripts, oddities
included. The script for coherence is released (``evaluation/interleaved_coherence``).
For semantic correctness, an earlier script by the same author is used.
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
"""The lowest and the highest grade of the scale."""
SCORE = "score"
PARTIAL_REPLY = "the reply lacks one of its grades: "
"""The message about a reply with some but not all grades begins with these words."""
RAW = "raw"
"""Key of a vote for the judge's number if it differs from the grade."""
_REASON = Text("reason")
_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
_LARGEST = 1e9
"""A number beyond these bounds is a mistake of the judge, not a grade."""


def share(grade: float) -> float:
    """Converts a grade to a share: 0 for the lowest grade, 1 for the highest."""
    return (grade - LOWEST) / (HIGHEST - LOWEST)


@dataclass(frozen=True)
class Grade:
    """A grade from 1 to 5. ``whole`` grades are rounded, halves upwards.

    A number beyond the scale is clamped to the end of the scale, since the judge then
    means the best or the worst grade. A number may be a string.
    """

    name: str
    whole: bool = True
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return Number(self.name, LOWEST, HIGHEST).asked()

    def written(self, value: Any) -> float:
        """Returns the number as the judge wrote it.

        Raises ReplyError if it is not a number.
        """
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
    """A reply with one grade and no reasons, read like the author's earlier script."""

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
    """Returns the form of a reply about semantic correctness: reasons and one grade."""
    kind = StatedGradeForm if reading == "official" else ReplyForm
    return kind((_REASON, Number(SCORE, LOWEST, HIGHEST)), example='{"score": 3}')


@dataclass(frozen=True)
class StatedShareForm(ReplyForm):
    """A reply with a share from 0 to 1, read like the author's earlier script.

    Official oddity: the script has five steps, of which 0.2 is the lowest. A reply that
    is not JSON states its share as the first number from 0 to 1.
    """

    @property
    def reads_refusals(self) -> bool:
        return True

    def read(self, text: str) -> Vote:
        share_in_reply = stated_share(text)
        if share_in_reply is None:
            raise ReplyError("the reply states no share from 0 to 1")
        bounded = min(1.0, max(0.0, share_in_reply))
        step = min(_SHARES, key=lambda share: abs(share - bounded))
        return {_REASON.name: text[:MAX_TEXT_CHARS], SCORE: step}


def share_form(reading: Reading) -> ReplyForm:
    """Returns the form of a reply with a share from 0 to 1."""
    kind = StatedShareForm if reading == "official" else ReplyForm
    number = Number(SCORE, 0, 1, whole=False)
    return kind((_REASON, number), example='{"score": 0.6}')


def stated_share(text: str) -> float | None:
    """Returns the number under ``score``, or None without a number.

    In a reply that is not a JSON object, it is the first number from 0 to 1.
    """
    reply = strict_json(text)
    if isinstance(reply, dict):
        try:
            return Number(SCORE, -_LARGEST, _LARGEST, whole=False).read(
                reply.get(SCORE)
            )
        except ReplyError:
            return None
    number = re.search(r"(?<!\d)(?:1(?:\.0+)?|0?\.\d+)(?!\d)", text)
    return float(number[0]) if number else None


def _without_reasons(form: ReplyForm) -> str:
    grades = [grade for grade in form.fields if not isinstance(grade, Text)]
    return ReplyForm(tuple(grades)).asked


def stated_grade(text: str) -> int | None:
    """Returns the grade under ``score`` if it is a whole number of the scale.

    Official oddity: otherwise the grade is the first digit from 1 to 5 that stands
    alone, so "out of 5: 3" is read as 5 and "4.7" as 4.
    """
    reply = strict_json(text)
    value: Any = reply.get(SCORE) if isinstance(reply, dict) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and value in range(LOWEST, HIGHEST + 1):
        return int(value)
    digit = re.search(r"\b[1-5]\b", text)
    if digit is None:
        return None
    return int(digit[0])


# --- coherence and style --------------------------------------------------------------


@dataclass(frozen=True)
class GradesForm(ReadForm):
    """A reply with several grades in one object. All of them are required.

    With ``accepts_all`` every reply that is not empty is accepted.
    """

    accepts_all: bool = False

    @property
    def asked(self) -> str:
        if self.reading == "official":
            return _without_reasons(self)
        return super().asked

    def fault(self, response: Response) -> str:
        if self.accepts_all:
            if response.is_refused or response.text.strip():
                return ""
            return "the reply is empty"
        faults = {form.grade.name: form.fault(response) for form in self.each_grade()}
        missing = [f"{name}: {fault}" for name, fault in faults.items() if fault]
        if not missing:
            return ""
        if len(missing) == len(faults):
            return next(iter(faults.values()))
        return f"{PARTIAL_REPLY}{missing[0]}"

    def part_fault(self, response: Response) -> str:
        """Returns what is wrong with a reply, for ``Call.accept``.

        Nothing is wrong if the reply has at least one of the grades.
        """
        faults = [form.fault(response) for form in self.each_grade()]
        if all(faults):
            return faults[0]
        return ""

    def each_grade(self, *, lowest: bool = False) -> list[OneGradeForm]:
        """Returns a form per grade. The forms read the same replies."""
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
    """One grade in a reply that may contain several.

    With ``lowest`` a reply without the grade counts as the lowest grade, as in the
    release, and the vote is marked as unreadable.
    """

    grade: Grade = field(kw_only=True)
    lowest: bool = False

    def read_reply(self, response: Response) -> Vote:
        if self.lowest:  # refused and empty replies also count
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
        reply: Any
        if self.reading == "robust":
            reply = read_object(text, [name], optional=[_REASON.name])
        else:
            reply = strict_json(unfenced(text))
        if not isinstance(reply, Mapping):
            raise ReplyError("the reply is not a JSON object")
        if name not in reply:
            raise ReplyError(f"the reply's JSON lacks {name!r}")
        value = reply[name]
        try:
            grade, written = self.grade.read(value), self.grade.written(value)
        except ReplyError as error:
            raise ReplyError(f"{name} {error}") from None
        vote: dict[str, Any] = {}
        reason = reply.get(_REASON.name)
        if isinstance(reason, str):
            vote[_REASON.name] = reason[:MAX_TEXT_CHARS]
        vote[name] = grade
        if written != grade:
            vote[RAW] = value
        return vote


def grades_form(
    names: Sequence[str], reading: Reading, *, accepts_all: bool
) -> GradesForm:
    """Returns the form of a reply with these grades.

    The release does not ask for reasons, and does not round the grades.
    """
    whole = reading == "robust"
    grades = [Grade(name, whole=whole) for name in names]
    example = "{" + ", ".join(f'"{name}": 3' for name in names) + "}"
    return GradesForm(
        (_REASON, *grades), example=example, reading=reading, accepts_all=accepts_all
    )


def unfenced(text: str) -> str:
    """Removes the fence that the released script removes.

    Official oddity: ```` ```json ```` at the very start and three backticks at the very
    end are removed independently. If prose precedes the fence, or if the fence does not
    name ``json``, the script finds no JSON.
    """
    return text.strip().removeprefix("```json").removesuffix("```").strip()


def is_partial_reply(reply: Reply) -> bool:
    """Returns True if the reply of a failed call contains some of the grades."""
    error = reply.response.error
    return (
        error is not None
        and error.kind == "bad_reply"
        and error.message.startswith(PARTIAL_REPLY)
    )


def as_empty_reply(reply: Reply) -> Reply:
    """Replaces an unreadable reply with an empty reply.

    Other replies are not changed.
    """
    error = reply.response.error
    if error is None or error.kind != "bad_reply":
        return reply
    return Reply(answered(()), reply.path)


def raw_votes(verdict: Verdict) -> list[Any]:
    """Returns the judge's numbers that are not grades of the scale."""
    return [vote[RAW] for vote in verdict.votes if RAW in vote]
