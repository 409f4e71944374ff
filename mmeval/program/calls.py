"""Programs: generators that yield calls, receive replies, and return a result.

Protocols, agents and judged metrics are programs. A program does no input or output, so
it is tested by feeding it replies; the broker runs it, and replays it on journalled
replies after a crash. A program must therefore ask the same calls again when it gets
the same replies: no clock, no random numbers, no files.

    def rubric(trial, judge):
        replies = yield [judge.ask(question(c, trial)) for c in trial.sample.metadata["rubric"]]
        return mean_met(replies)
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mmeval.errors import MmevalError
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import HOPELESS, ErrorInfo, Response
from mmeval.records.sample import Message, message
from mmeval.system.wording import shortened

if TYPE_CHECKING:  # it decodes, which programs do not
    from mmeval.program.route import Route

MODEL = "model"
"""The role under test."""

MAX_EXCERPT_CHARS = 300
"""So much of a reply that was not acceptable stands in the record of its failure."""

T = TypeVar("T")

Accept: TypeAlias = Callable[[Response], str]
"""What is wrong with a reply; empty when it can be used. It depends on the request
alone, as the reply may be used for every call with the same request."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a role: ``model``, ``judge``, or another with a backend in the run.

    A reply in which ``accept`` finds a fault is asked for again, a few times (see the
    broker); after that it is an error of the kind ``bad_reply``. Without ``accept``
    every reply is accepted. ``example`` is an accepted reply after which the program
    asks as much as it ever does; a dry run uses it.

    ``convert`` names routes (:mod:`mmeval.backend.sendable`), or holds routes of the
    program's own, for media that the role's backend does not take as they are, or for
    which another form is enough: they are converted before they are sent, and warnings
    of the response report it. With any route, media that cannot be decoded are not
    sent, but are an error of the kind ``bad_media``. ``title`` is the name of the step
    in a trace.
    """

    role: str
    request: Request
    accept: Accept | None = field(default=None, compare=False, repr=False)
    example: str = field(default="", compare=False, repr=False)
    convert: tuple[str | Route, ...] = ()
    title: str = field(default="", compare=False)

    def fault_in(self, response: Response) -> str:
        """What is wrong with an answer by ``accept``; empty for a failure."""
        if self.accept is None or response.output is None:
            return ""
        try:
            return self.accept(response)
        # a plugin's check may raise anything and call sys.exit; the reply was paid for
        # and is kept
        except (Exception, SystemExit) as error:
            return f"it cannot be checked ({type(error).__name__}: {error})"


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a call, the call's place in the program (``0``, ``2.1``), and its
    key in the journal.

    The key is empty where there was none to ask.
    """

    response: Response
    path: str = "0"
    key: str = ""

    @property
    def ok(self) -> bool:
        return self.response.error is None

    @property
    def text(self) -> str:
        return self.response.text

    def require(self) -> Interleaved:
        """The answer. Raises CallFailed without one: the program ends, its trial
        failed."""
        if self.response.output is None:
            raise CallFailed(
                self.response.error
                or ErrorInfo("internal", "a reply without answer and without error")
            )
        return self.response.output

    def as_message(self) -> Message:
        """The answer as a message of a later request. Raises CallFailed without one."""
        return Message("assistant", self.require(), self.response.turn)

    def problem(self) -> str:
        """Why it cannot be used; empty if it can. Raises CallFailed for an error that
        another try may not meet."""
        error = self.response.error
        if error is not None and error.kind not in (
            *HOPELESS,
            "bad_reply",
            "no_answer",
        ):
            raise CallFailed(error)
        return "" if error is None else f"{error.kind}: {error.words:.200}"


def reply_to(
    call: Call,
    response: Response,
    path: str = "0",
    key: str = "",
) -> Reply:
    """A response as the program gets it.

    A program relies on what its call accepts. So a refused reply that is not acceptable
    is an error for the program, though it is an answer in the journal.
    """
    if response.is_refused and call.fault_in(response):
        reply = excerpt(response)
        reasons = "; ".join(response.warnings) or "it gave no reply"
        error = ErrorInfo("refused", "it declined" if reply else reasons, reply=reply)
        response = replace(response, output=None, error=error)
    return Reply(response, path, key)


def excerpt(response: Response) -> str:
    """The beginning of a reply that was not acceptable, for the record."""
    return shortened(" ".join(response.text.split()), MAX_EXCERPT_CHARS)


Program: TypeAlias = Generator[Call | Sequence[Call], Any, T]
"""Yields a call (and is sent a ``Reply``) or a sequence of independent calls (and is
sent a list of replies)."""


class CallFailed(MmevalError):
    """A call that a program cannot do without has failed."""

    def __init__(self, error: ErrorInfo) -> None:
        self.error = error
        super().__init__(f"{error.kind}: {error.words}")


def ask_one(call: Call) -> Program[Reply]:
    """One call, with a typed reply: ``reply = yield from ask_one(call)``."""
    reply: Reply = yield call
    return reply


def ask_all(calls: Sequence[Call]) -> Program[list[Reply]]:
    """Independent calls, asked at the same time; replies in the order of the calls."""
    replies: list[Reply] = yield calls
    return replies


def next_asked(program: Program[T], sent: Any) -> Call | Sequence[Call]:
    """What a program asks next, given the replies to what it asked last. Raises what it
    raises, StopIteration with its result; a program that yields another one in place of
    its calls gets a TypeError, at its line."""
    asked = program.send(sent)
    if isinstance(asked, GeneratorType):
        asked = program.throw(
            TypeError(f"write 'yield from' before {asked.gi_code.co_name}(...)")
        )
    return asked


def placed(asked: Call | Sequence[Call], step: int) -> list[tuple[str, Call]]:
    """The calls of a program's step, each with its place: ``0``, ``2.1``."""
    if isinstance(asked, Call):
        return [(f"{step}", asked)]
    return [(f"{step}.{position}", call) for position, call in enumerate(asked)]


def followed(program: Program[T], answer: Callable[[Call, str], Reply]) -> T:
    """Run a program in this thread; ``answer`` gives the reply to a call, by its place.
    Raises what either raises."""
    step = 0
    sent: Reply | list[Reply] | None = None
    while True:
        try:
            asked = next_asked(program, sent)
        except StopIteration as stop:
            result: T = stop.value
            return result
        replies = [answer(call, path) for path, call in placed(asked, step)]
        sent = replies[0] if isinstance(asked, Call) else replies
        step += 1


@dataclass(frozen=True, slots=True)
class Role:
    """A role that a program asks, with its parameters unless a call has its own."""

    name: str
    params: GenerationParams = field(default_factory=GenerationParams)
    variants: Mapping[PartKind, Role] = field(default_factory=dict, hash=False)
    convert: tuple[str | Route, ...] = ()
    """The routes of each call that names none."""

    def ask(
        self,
        *parts: Part | Media | str | Interleaved,
        system: str = "",
        wants: Sequence[PartKind] = ("text",),
        accept: Accept | None = None,
        example: str = "",
        convert: Sequence[str | Route] = (),
        title: str = "",
    ) -> Call:
        """A call with one user message made of the parts, in order."""
        messages = [message("system", system)] if system else []
        messages.append(message("user", *parts))
        return self.send(
            messages,
            wants=wants,
            accept=accept,
            example=example,
            convert=convert,
            title=title,
        )

    def send(
        self,
        messages: Sequence[Message],
        *,
        wants: Sequence[PartKind] = ("text",),
        params: GenerationParams | None = None,
        accept: Accept | None = None,
        example: str = "",
        convert: Sequence[str | Route] = (),
        title: str = "",
    ) -> Call:
        """A call with whole messages; the rest is as in ``Call``."""
        request = Request(tuple(messages), params or self.params, tuple(wants))
        return Call(
            self.name, request, accept, example, tuple(convert) or self.convert, title
        )

    def variant(self, kind: PartKind) -> Role:
        """The role for a kind of medium: ``captioner.audio`` if the run has it, else
        this."""
        return self.variants.get(kind, self)
