"""Programs: plain generators that yield calls, receive replies, and return a result.

Whatever asks anything (a protocol, an agent, a judged metric) is one. A program does no input or output, so it is
tested by feeding it replies; the broker runs it, and replays it on journalled replies after a crash. A program must
therefore ask the same calls again when it gets the same replies: no clock, no random numbers, no files.

    def rubric(trial, judge):
        replies = yield [judge.ask(question(c, trial)) for c in trial.sample.metadata["rubric"]]
        return mean_met(replies)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from mmeval.content import Interleaved, Part, PartKind
from mmeval.errors import MmevalError
from mmeval.media import Media
from mmeval.records import ErrorInfo, GenerationParams, Message, Request, Response, Sample, message, user

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A request put to a role: ``model``, ``judge``, or any other name that the run has a backend for."""

    role: str
    request: Request


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the response, and the call's place in the program (``0``, ``2.1``)."""

    response: Response
    path: str = "0"

    @property
    def ok(self) -> bool:
        return self.response.error is None

    @property
    def text(self) -> str:
        return self.response.text

    def require(self) -> Interleaved:
        """The answer. Raises CallFailed when there is none: the program ends and its trial has failed."""
        if self.response.output is None:
            raise CallFailed(self.response.error or ErrorInfo("internal", "a reply without answer and without error"))
        return self.response.output


Program: TypeAlias = Generator[Call | Sequence[Call], Any, T]
"""Yields a call (and is sent a ``Reply``) or a sequence of independent calls (and is sent a list of replies)."""


class CallFailed(MmevalError):
    """A call that a program cannot do without has failed."""

    def __init__(self, error: ErrorInfo) -> None:
        self.error = error
        super().__init__(f"{error.kind}: {error.message}")


def ask_one(call: Call) -> Program[Reply]:
    """One call, with a typed reply: ``reply = yield from ask_one(call)``."""
    reply: Reply = yield call
    return reply


def ask_all(calls: Sequence[Call]) -> Program[list[Reply]]:
    """Independent calls, asked at the same time; replies in the order of the calls."""
    replies: list[Reply] = yield calls
    return replies


@dataclass(frozen=True, slots=True)
class Role:
    """Whom a program asks, with the parameters that hold unless a call says otherwise."""

    name: str
    params: GenerationParams = field(default_factory=GenerationParams)

    def ask(
        self, *parts: Part | Media | str | Interleaved, system: str = "", wants: Sequence[PartKind] = ("text",)
    ) -> Call:
        """A call with one user message made of the parts, in order."""
        messages = (message("user", *parts),)
        return self.send((message("system", system), *messages) if system else messages, wants=wants)

    def send(
        self,
        messages: Sequence[Message],
        *,
        wants: Sequence[PartKind] = ("text",),
        params: GenerationParams | None = None,
    ) -> Call:
        """A call with whole messages."""
        return Call(self.name, Request(tuple(messages), params or self.params, tuple(wants)))


@dataclass(frozen=True, slots=True)
class Ask:
    """What a protocol is given: the sample's prompt, what is wanted, and whom to ask.

    ``sample`` carries references and labels, so that a protocol can read how many turns a sample has; nothing of them
    may enter a message.
    """

    sample: Sample
    messages: tuple[Message, ...]
    wants: tuple[PartKind, ...]
    params: GenerationParams
    model: Role

    def call(self, messages: Sequence[Message] | None = None, wants: Sequence[PartKind] | None = None) -> Call:
        """A call of the model under test: the sample's own prompt and wanted kinds unless given."""
        chosen = self.messages if messages is None else messages
        return self.model.send(chosen, wants=self.wants if wants is None else wants, params=self.params)


def single(ask: Ask) -> Program[Interleaved]:
    """One request, one answer with everything in it."""
    reply = yield from ask_one(ask.call())
    return reply.require()


def independent_passes(ask: Ask) -> Program[Interleaved]:
    """One request for each wanted kind, all at once, none seeing another's answer; joined in the order of ``wants``."""
    replies = yield from ask_all([ask.call(wants=(kind,)) for kind in ask.wants])
    return join([reply.require() for reply in replies])


def text_then_media(
    ask: Ask, *, instruction: str = "Produce the {kind} that belongs to your answer above, and nothing else."
) -> Program[Interleaved]:
    """First the text, then each wanted medium kind on its own, with the text before its eyes.

    The media fill the text's dangling placeholders of their kind in order; those left over follow the text.
    """
    first = yield from ask_one(ask.call(wants=("text",)))
    text = first.require()
    kinds = [kind for kind in ask.wants if kind != "text"]
    asked = [(*ask.messages, Message("assistant", text), user(instruction.format(kind=kind))) for kind in kinds]
    replies = yield from ask_all([ask.call(messages, (kind,)) for messages, kind in zip(asked, kinds, strict=True)])
    made = [medium for reply in replies for medium in reply.require().media()]
    if not made:
        return text
    hidden = tuple(part for part in text.parts if part.kind == "reasoning")
    return Interleaved((*hidden, *Interleaved.from_reply(text.text, (*text.media(), *made)).parts))


def episode(ask: Ask, *, answer: str = "all") -> Program[Interleaved]:
    """Several turns: each user message of the prompt is asked in its turn, after the earlier ones and their answers.

    The result is all answers in order, or with ``answer="last"`` the last one.
    """
    history: list[Message] = []
    answers: list[Interleaved] = []
    for turn in ask.messages:
        history.append(turn)
        if turn.role != "user":
            continue
        reply = yield from ask_one(ask.call(tuple(history)))
        answers.append(reply.require())
        history.append(Message("assistant", answers[-1]))
    return answers[-1] if answer == "last" else join(answers)


def join(answers: Sequence[Interleaved]) -> Interleaved:
    """Answers one after the other."""
    return Interleaved(tuple(part for answer in answers for part in answer.parts))
