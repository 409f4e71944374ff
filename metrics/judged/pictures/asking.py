"""Asking a judge about pictures: one program for each kind of question, which metrics put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from mmeval.content import Interleaved, Media, media_part
from mmeval.judge import UNREAD, Question, Repeats, ReplyForm, Verdict, ask_verdicts
from mmeval.metrics.judged.pictures.replies import (
    ANSWER,
    characters_form,
    letter_form,
    words_form,
    yes_no_form,
)
from mmeval.metrics.judged.pictures.worth import Worth, unknown, worth
from mmeval.metrics.judged.reading import UNREADABLE, Reading
from mmeval.program import Call, JudgePrompt, Program, Role

Lost = Literal["unscored", "wrong"]
"""What a question without a usable reply makes of the trial. The release counts it as answered wrongly. A question that
got no reply at all, since the judge failed or refused to be asked, is unscored with both: that is no verdict."""
Word = Literal["yes", "no"]
Written: TypeAlias = str | Mapping[str, Any]
"""A prompt, as a switch writes it."""
PresencePrompt = Annotated[Written, JudgePrompt("description", form=False)]
ChoicePrompt = Annotated[Written, JudgePrompt("description", "options", form=False)]
PairPrompt = Annotated[Written, JudgePrompt("first", "second", "options", form=False)]
PlacePrompt = Annotated[Written, JudgePrompt("place", form=False)]
BarePrompt = Annotated[Written, JudgePrompt(form=False)]
PatternPrompt = Annotated[Written, JudgePrompt("pattern", "claim", form=False)]
DrawnPrompt = Annotated[Written, JudgePrompt("pattern", form=False)]


@dataclass(frozen=True)
class Asking:
    """Whom to ask and how: see the switches of the same names. ``media_first`` puts a picture before the words."""

    judge: Role
    reading: Reading
    lost: Lost
    media_first: bool
    repeats: Repeats


class About(NamedTuple):
    """One question: the values of its prompt, and the picture that it is about, if it is about one."""

    values: Mapping[str, Any]
    picture: Media | None = None


@dataclass(frozen=True)
class Finding:
    """What the judge says to one question."""

    about: Mapping[str, Any]
    verdict: Verdict
    lost: Lost = "unscored"

    @property
    def missing(self) -> str:
        """Why there is no answer; empty when there is one."""
        return self.verdict.unknown(ANSWER)

    @property
    def open(self) -> bool:
        """Whether it is not known what the answer is worth: it is missing, and that is not wrong."""
        return bool(self.missing) and not (self.lost == "wrong" and self.verdict.replied)

    @property
    def answer(self) -> str:
        """The answer; empty where there is none."""
        return str(self.verdict.values.get(ANSWER) or "")

    def worth(self, value: Callable[[str], float]) -> Worth:
        """What the answer is worth; without one it is not known, or 0 where what is lost counts as wrong."""
        if not self.missing:
            return worth(value(self.answer))
        return unknown(self.missing, self.verdict.cause) if self.open else worth(0.0)

    def is_(self, wanted: str) -> Worth:
        """1 when the answer is the wanted one, else 0."""
        return self.worth(lambda answer: float(answer == wanted))

    @property
    def evidence(self) -> dict[str, Any]:
        """For people: what was asked, the answer with the judge's own words, or why there is none; and of how many
        votes the reply could not be read, where that counts as wrong, for :mod:`mmeval.run.complaints`."""
        lost = {"lost": self.missing} if self.missing else {}
        return {**self.about, **self.verdict.evidence, **lost, **({UNREAD: self.unread} if self.unread else {})}

    @property
    def unread(self) -> int:
        """How many replies could not be read and count as wrong; a verdict without any usable reply is one."""
        if self.lost != "wrong":
            return 0
        votes = sum(1 for vote in self.verdict.votes if vote.get(UNREADABLE))
        return votes + (self.verdict.replied and bool(self.verdict.lost))


@dataclass(frozen=True)
class PictureQuestion(Question):
    """A question with a picture before or after its words. The judge sees the picture and no name of it."""

    picture: Media | None = None
    media_first: bool = True

    def call(self) -> Call:
        call = super().call()
        if self.picture is None:
            return call
        *before, last = call.request.messages
        shown, words = (media_part(self.picture, "image"),), last.content.parts
        parts = (*shown, *words) if self.media_first else (*words, *shown)
        messages = (*before, replace(last, content=Interleaved(parts)))
        return replace(call, request=replace(call.request, messages=messages))


class Inquiry(NamedTuple):
    """A question that is ready to be asked, and what it is about, for the evidence."""

    question: PictureQuestion
    about: Mapping[str, Any]
    lost: Lost


def ask(inquiries: Sequence[Inquiry], *, repeats: int = 1) -> Program[list[Finding]]:
    """Questions of any kind, all asked at the same time."""
    verdicts = yield from ask_verdicts([one.question for one in inquiries], repeats=repeats)
    return [Finding(one.about, verdict, one.lost) for one, verdict in zip(inquiries, verdicts, strict=True)]


def presence(asking: Asking, prompt: Written, about: About, *, word: Word = "yes", reasons: bool = True) -> Inquiry:
    """Is it so? The answer is ``yes`` or ``no``; the official reading looks for ``word`` alone."""
    return _inquiry(asking, prompt, about, yes_no_form(asking.reading, word, reasons=reasons))


def letter(
    asking: Asking, prompt: Written, about: About, options: Mapping[str, str], *, stated: bool = True
) -> Inquiry:
    """Which of some options, each a letter with its meaning? The answer is the letter."""
    listed = [{"name": name, "meaning": meaning} for name, meaning in options.items()]
    whole = About({**about.values, "options": listed}, about.picture)
    return _inquiry(asking, prompt, whole, letter_form(asking.reading, tuple(options), stated=stated))


def ask_presence(
    asking: Asking, prompt: Written, about: Sequence[About], *, word: Word = "yes"
) -> Program[list[Finding]]:
    """Are these things so? One answer each."""
    return (yield from ask([presence(asking, prompt, one, word=word) for one in about], repeats=asking.repeats))


def ask_letter(
    asking: Asking, prompt: Written, about: About, options: Mapping[str, str], *, stated: bool = True
) -> Program[Finding]:
    """Which of some options is it?"""
    (found,) = yield from ask([letter(asking, prompt, about, options, stated=stated)], repeats=asking.repeats)
    return found


def ask_words(asking: Asking, prompt: Written, about: Sequence[About]) -> Program[list[Finding]]:
    """What is written there? The answer is the texts, in the order of reading, with blanks between."""
    form = words_form(asking.reading)
    return (yield from ask([_inquiry(asking, prompt, one, form) for one in about], repeats=asking.repeats))


def ask_characters(askings: Sequence[Asking], prompt: Written, picture: Media) -> Program[list[Finding]]:
    """Which Chinese characters are written there? One answer from each judge."""
    forms = [characters_form(one.reading) for one in askings]
    inquiries = [_inquiry(one, prompt, About({}, picture), form) for one, form in zip(askings, forms, strict=True)]
    return (yield from ask(inquiries, repeats=askings[0].repeats))


def _inquiry(asking: Asking, prompt: Written, about: About, form: ReplyForm) -> Inquiry:
    question = PictureQuestion(asking.judge, form, prompt, about.values, about.picture, asking.media_first)
    return Inquiry(question, {name: value for name, value in about.values.items() if name != "options"}, asking.lost)
