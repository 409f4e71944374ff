"""Questions to a judge about pictures, with one program per kind of question."""

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
from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    unknown_value,
)
from mmeval.metrics.judged.pictures.replies import (
    ANSWER,
    characters_form,
    letter_form,
    words_form,
    yes_no_form,
)
from mmeval.metrics.judged.reading import UNREADABLE, Lost, Reading
from mmeval.program import Call, JudgePrompt, Program, PromptValue, Role

Word = Literal["yes", "no"]
PresencePrompt = Annotated[PromptValue, JudgePrompt("description", form=False)]
ChoicePrompt = Annotated[PromptValue, JudgePrompt("description", "options", form=False)]
PairPrompt = Annotated[
    PromptValue, JudgePrompt("first", "second", "options", form=False)
]
PlacePrompt = Annotated[PromptValue, JudgePrompt("place", form=False)]
BarePrompt = Annotated[PromptValue, JudgePrompt(form=False)]
PatternPrompt = Annotated[PromptValue, JudgePrompt("pattern", "claim", form=False)]
DrawnPrompt = Annotated[PromptValue, JudgePrompt("pattern", form=False)]


@dataclass(frozen=True)
class PictureJudge:
    """A judge, and the settings of the questions to it.

    Each setting is the metrics' switch of the same name. ``media_first`` puts the
    picture before the words.
    """

    role: Role
    reading: Reading
    lost: Lost
    media_first: bool
    repeats: Repeats


class QuestionSubject(NamedTuple):
    """The subject of a question: values for the prompt, and its picture if any."""

    values: Mapping[str, Any]
    picture: Media | None = None


@dataclass(frozen=True)
class JudgeAnswer:
    """The judge's answer to one question."""

    subject: Mapping[str, Any]
    verdict: Verdict
    lost: Lost = "unscored"

    @property
    def missing(self) -> str:
        """The reason why the answer is missing; empty if there is an answer."""
        return self.verdict.unknown(ANSWER)

    @property
    def is_unknown(self) -> bool:
        """True if the answer is missing and does not count as wrong."""
        counts_as_wrong = self.lost == "wrong" and self.verdict.replied
        return bool(self.missing) and not counts_as_wrong

    @property
    def answer(self) -> str:
        """The answer; empty if it is missing."""
        return str(self.verdict.values.get(ANSWER) or "")

    def value(self, value_of: Callable[[str], float]) -> BoundedValue:
        """Returns the value of the answer.

        A missing answer is unknown, or 0 if it counts as wrong.
        """
        if not self.missing:
            return known_value(value_of(self.answer))
        if self.is_unknown:
            return unknown_value(self.missing, self.verdict.cause)
        return known_value(0.0)

    def matches(self, expected: str) -> BoundedValue:
        """Returns 1 if the answer is the expected one, else 0."""
        return self.value(lambda answer: float(answer == expected))

    @property
    def evidence(self) -> dict[str, Any]:
        """The question with the judge's answer and words, or why they are missing.

        The evidence includes the number of unreadable replies that count as wrong.
        :mod:`mmeval.run.complaints` reports this number.
        """
        evidence = {**self.subject, **self.verdict.evidence}
        if self.missing:
            evidence["lost"] = self.missing
        if self.unread:
            evidence[UNREAD] = self.unread
        return evidence

    @property
    def unread(self) -> int:
        """The number of unreadable replies that count as wrong.

        A verdict without a usable reply adds one to this number.
        """
        if self.lost != "wrong":
            return 0
        votes = sum(bool(vote.get(UNREADABLE)) for vote in self.verdict.votes)
        return votes + (self.verdict.replied and bool(self.verdict.lost))


@dataclass(frozen=True)
class PictureQuestion(Question):
    """A question with a picture before or after its words.

    The judge does not see the name of the picture's file.
    """

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


class PreparedQuestion(NamedTuple):
    """A question that can be sent, and its subject for the evidence."""

    question: PictureQuestion
    subject: Mapping[str, Any]
    lost: Lost


def ask(
    prepared: Sequence[PreparedQuestion], *, repeats: int = 1
) -> Program[list[JudgeAnswer]]:
    """Asks questions of any kind, all at the same time."""
    questions = [item.question for item in prepared]
    verdicts = yield from ask_verdicts(questions, repeats=repeats)
    answers: list[JudgeAnswer] = []
    for item, verdict in zip(prepared, verdicts, strict=True):
        answers.append(JudgeAnswer(item.subject, verdict, item.lost))
    return answers


def presence(
    judge: PictureJudge,
    prompt: PromptValue,
    subject: QuestionSubject,
    *,
    word: Word = "yes",
    reasons: bool = True,
) -> PreparedQuestion:
    """Returns a yes-or-no question. The official reading only searches for ``word``."""
    form = yes_no_form(judge.reading, word, reasons=reasons)
    return _prepared(judge, prompt, subject, form)


def letter(
    judge: PictureJudge,
    prompt: PromptValue,
    subject: QuestionSubject,
    options: Mapping[str, str],
    *,
    stated: bool = True,
) -> PreparedQuestion:
    """Returns a question with a choice between lettered options.

    ``options`` maps letters to meanings.
    """
    listed = [{"name": name, "meaning": meaning} for name, meaning in options.items()]
    values = {**subject.values, "options": listed}
    form = letter_form(judge.reading, tuple(options), stated=stated)
    return _prepared(judge, prompt, QuestionSubject(values, subject.picture), form)


def ask_presence(
    judge: PictureJudge, prompt: PromptValue, subjects: Sequence[QuestionSubject]
) -> Program[list[JudgeAnswer]]:
    """Asks one yes-or-no question per subject."""
    prepared = [presence(judge, prompt, subject) for subject in subjects]
    return (yield from ask(prepared, repeats=judge.repeats))


def ask_letter(
    judge: PictureJudge,
    prompt: PromptValue,
    subject: QuestionSubject,
    options: Mapping[str, str],
) -> Program[JudgeAnswer]:
    """Asks the judge to choose an option. The reply is the letter alone."""
    prepared = letter(judge, prompt, subject, options, stated=False)
    (answer,) = yield from ask([prepared], repeats=judge.repeats)
    return answer


def ask_words(
    judge: PictureJudge, prompt: PromptValue, subjects: Sequence[QuestionSubject]
) -> Program[list[JudgeAnswer]]:
    """Asks for the text in each picture, in reading order and joined by spaces."""
    form = words_form(judge.reading)
    prepared = [_prepared(judge, prompt, subject, form) for subject in subjects]
    return (yield from ask(prepared, repeats=judge.repeats))


def ask_characters(
    judges: Sequence[PictureJudge], prompt: PromptValue, picture: Media
) -> Program[list[JudgeAnswer]]:
    """Asks each judge for the Chinese characters in a picture."""
    subject = QuestionSubject({}, picture)
    prepared: list[PreparedQuestion] = []
    for judge in judges:
        form = characters_form(judge.reading)
        prepared.append(_prepared(judge, prompt, subject, form))
    return (yield from ask(prepared, repeats=judges[0].repeats))


def _prepared(
    judge: PictureJudge, prompt: PromptValue, subject: QuestionSubject, form: ReplyForm
) -> PreparedQuestion:
    question = PictureQuestion(
        judge.role, form, prompt, subject.values, subject.picture, judge.media_first
    )
    evidence = dict(subject.values)
    evidence.pop("options", None)
    return PreparedQuestion(question, evidence, judge.lost)
