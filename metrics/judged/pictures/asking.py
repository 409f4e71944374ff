"""Asks a judge about pictures: a program for each kind of question, for metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

from mmeval.media import Interleaved, Media, media_part
from mmeval.metric.judge import (
    UNREAD,
    Question,
    Repeats,
    ReplyForm,
    Verdict,
    ask_verdicts,
)
from mmeval.metrics.judged.pictures.replies import (
    ANSWER,
    characters_form,
    letter_form,
    words_form,
    yes_no_form,
)
from mmeval.metrics.judged.pictures.worth import Worth, unknown, worth
from mmeval.metrics.judged.reading import UNREADABLE, Lost, Reading
from mmeval.program import Call, JudgePrompt, Program, Role, Written

Word = Literal["yes", "no"]
PresencePrompt = Annotated[Written, JudgePrompt("description", form=False)]
ChoicePrompt = Annotated[Written, JudgePrompt("description", "options", form=False)]
PairPrompt = Annotated[Written, JudgePrompt("first", "second", "options", form=False)]
PlacePrompt = Annotated[Written, JudgePrompt("place", form=False)]
BarePrompt = Annotated[Written, JudgePrompt(form=False)]
PatternPrompt = Annotated[Written, JudgePrompt("pattern", "claim", form=False)]
DrawnPrompt = Annotated[Written, JudgePrompt("pattern", form=False)]


@dataclass(frozen=True)
class Asking:
    """Which judge is asked, and how: see the switches of the same names.
    ``media_first`` puts a picture before the words."""

    judge: Role
    reading: Reading
    lost: Lost
    media_first: bool
    repeats: Repeats


class About(NamedTuple):
    """One question: the values of its prompt, and its picture, if it has one."""

    values: Mapping[str, Any]
    picture: Media | None = None


@dataclass(frozen=True)
class Finding:
    """The judge's answer to one question."""

    about: Mapping[str, Any]
    verdict: Verdict
    lost: Lost = "unscored"

    @property
    def missing(self) -> str:
        """Why there is no answer; empty with an answer."""
        return self.verdict.unknown(ANSWER)

    @property
    def open(self) -> bool:
        """Whether the value is unknown: the answer is missing and not counted as
        wrong."""
        return bool(self.missing) and not (
            self.lost == "wrong" and self.verdict.replied
        )

    @property
    def answer(self) -> str:
        """The answer; empty where there is none."""
        return str(self.verdict.values.get(ANSWER) or "")

    def worth(self, value: Callable[[str], float]) -> Worth:
        """The value of the answer; if missing unknown, or 0 where that counts as
        wrong."""
        if not self.missing:
            return worth(value(self.answer))
        if self.open:
            return unknown(self.missing, self.verdict.cause)
        return worth(0.0)

    def is_(self, wanted: str) -> Worth:
        """1 when the answer is the wanted one, else 0."""
        return self.worth(lambda answer: float(answer == wanted))

    @property
    def evidence(self) -> dict[str, Any]:
        """The question, and the answer with the judge's words or why there is none. For
        people. Where unreadable replies count as wrong, also their number, for
        :mod:`mmeval.run.complaints`."""
        evidence = {**self.about, **self.verdict.evidence}
        if self.missing:
            evidence["lost"] = self.missing
        if self.unread:
            evidence[UNREAD] = self.unread
        return evidence

    @property
    def unread(self) -> int:
        """How many unreadable replies count as wrong; a verdict with none usable is
        one."""
        if self.lost != "wrong":
            return 0
        votes = sum(bool(vote.get(UNREADABLE)) for vote in self.verdict.votes)
        return votes + (self.verdict.replied and bool(self.verdict.lost))


@dataclass(frozen=True)
class PictureQuestion(Question):
    """A question with a picture before or after its words, without the picture's
    name."""

    picture: Media | None = None
    media_first: bool = True

    def call(self) -> Call:
        call = super().call()
        if self.picture is None:
            return call
        *before, last = call.request.messages
        picture = media_part(self.picture, "image")
        parts = (*last.content.parts, picture)
        if self.media_first:
            parts = (picture, *last.content.parts)
        messages = (*before, replace(last, content=Interleaved(parts)))
        return replace(call, request=replace(call.request, messages=messages))


class Inquiry(NamedTuple):
    """A question that is ready to be asked, and its subject for the evidence."""

    question: PictureQuestion
    about: Mapping[str, Any]
    lost: Lost


def ask(inquiries: Sequence[Inquiry], *, repeats: int = 1) -> Program[list[Finding]]:
    """Ask questions of any kind, all at the same time."""
    questions = [inquiry.question for inquiry in inquiries]
    verdicts = yield from ask_verdicts(questions, repeats=repeats)
    findings: list[Finding] = []
    for inquiry, verdict in zip(inquiries, verdicts, strict=True):
        findings.append(Finding(inquiry.about, verdict, inquiry.lost))
    return findings


def presence(
    asking: Asking,
    prompt: Written,
    about: About,
    *,
    word: Word = "yes",
    reasons: bool = True,
) -> Inquiry:
    """Is it so? ``yes`` or ``no``; the official reading looks for ``word`` alone."""
    form = yes_no_form(asking.reading, word, reasons=reasons)
    return _inquiry(asking, prompt, about, form)


def letter(
    asking: Asking,
    prompt: Written,
    about: About,
    options: Mapping[str, str],
    *,
    stated: bool = True,
) -> Inquiry:
    """Which option, each a letter with its meaning? The answer is the letter."""
    listed = [{"name": name, "meaning": meaning} for name, meaning in options.items()]
    whole = About({**about.values, "options": listed}, about.picture)
    form = letter_form(asking.reading, tuple(options), stated=stated)
    return _inquiry(asking, prompt, whole, form)


def ask_presence(
    asking: Asking, prompt: Written, about: Sequence[About]
) -> Program[list[Finding]]:
    """Are these things so? One answer each."""
    inquiries = [presence(asking, prompt, question) for question in about]
    return (yield from ask(inquiries, repeats=asking.repeats))


def ask_letter(
    asking: Asking, prompt: Written, about: About, options: Mapping[str, str]
) -> Program[Finding]:
    """Which of some options is it? The letter stands alone."""
    inquiry = letter(asking, prompt, about, options, stated=False)
    (found,) = yield from ask([inquiry], repeats=asking.repeats)
    return found


def ask_words(
    asking: Asking, prompt: Written, about: Sequence[About]
) -> Program[list[Finding]]:
    """What is written there? The texts in reading order, with blanks between them."""
    form = words_form(asking.reading)
    inquiries = [_inquiry(asking, prompt, question, form) for question in about]
    return (yield from ask(inquiries, repeats=asking.repeats))


def ask_characters(
    askings: Sequence[Asking], prompt: Written, picture: Media
) -> Program[list[Finding]]:
    """Which Chinese characters are written there? One answer from each judge."""
    about = About({}, picture)
    inquiries: list[Inquiry] = []
    for asking in askings:
        form = characters_form(asking.reading)
        inquiries.append(_inquiry(asking, prompt, about, form))
    return (yield from ask(inquiries, repeats=askings[0].repeats))


def _inquiry(
    asking: Asking,
    prompt: Written,
    about: About,
    form: ReplyForm,
) -> Inquiry:
    question = PictureQuestion(
        asking.judge, form, prompt, about.values, about.picture, asking.media_first
    )
    noted = dict(about.values)
    noted.pop("options", None)
    return Inquiry(question, noted, asking.lost)
