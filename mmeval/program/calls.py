"""Programs: generators that yield calls, receive replies, and return a result.

Protocols, agents and judged metrics are programs. A program does not send requests
itself, so a test can pass replies to it. The broker runs a program, and after a crash
runs it again with the replies in the journal. Therefore a program must yield the same
calls if it receives the same replies, and must not use the clock, random numbers or
files.

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

if TYPE_CHECKING:  # its import loads decoders, which programs do not need
    from mmeval.program.route import Route

MODEL = "model"
"""The role of the model under test."""

MAX_EXCERPT_CHARS = 300
"""Maximum length of the excerpt that an error quotes from an unacceptable reply."""

T = TypeVar("T")

Accept: TypeAlias = Callable[[Response], str]
"""A function that returns what is wrong with a reply, or an empty string if nothing is.

The check must depend on the request alone, since a reply is reused for every call with
the same request.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a role: ``model``, ``judge``, or another role of the run.

    If ``accept`` finds a fault in a reply, the request is sent again, up to a maximum
    number of times (see ``mmeval.broker.broker``). After that, the reply is an error
    of the kind ``bad_reply``. Without ``accept`` every reply is accepted. ``example``
    is an acceptable reply that causes the maximum number of further calls. A dry run
    uses this reply as the answer.

    ``convert`` contains names of routes (``mmeval.backend.routes``) or routes that
    the program defines. These routes convert media that the role's backend does not
    accept, or media that it should get in a shorter form. The response has a warning
    for each conversion. If a route has to convert media that cannot be decoded, the
    reply is an error of the kind ``bad_media``. ``title`` is the name of the step in a
    trace. ``schema`` is the JSON schema of an acceptable reply. It is sent only if the
    server enforces it.
    """

    role: str
    request: Request
    accept: Accept | None = field(default=None, compare=False, repr=False)
    example: str = field(default="", compare=False, repr=False)
    convert: tuple[str | Route, ...] = ()
    title: str = field(default="", compare=False)
    schema: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def fault_in(self, response: Response) -> str:
        """Returns the fault that ``accept`` finds in an answer.

        For a failed call, the result is empty.
        """
        if self.accept is None or response.output is None:
            return ""
        try:
            return self.accept(response)
        # A plugin's check may raise anything and call sys.exit. The reply was paid for
        # and must be journalled.
        except (Exception, SystemExit) as error:
            return f"it cannot be checked ({type(error).__name__}: {error})"


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a call.

    ``path`` is the call's position in the program (``0``, ``2.1``). ``key`` is the
    call's key in the journal. It is empty if no request was sent.
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
        """Returns the answer.

        Raises CallFailed if the call failed. This ends the program unless it catches
        the error.
        """
        if self.response.output is None:
            raise CallFailed(
                self.response.error
                or ErrorInfo("internal", "the reply has neither an answer nor an error")
            )
        return self.response.output

    def as_message(self) -> Message:
        """Returns the answer as a message for a later request.

        Raises CallFailed if there is none.
        """
        return Message("assistant", self.require(), self.response.turn)

    def problem(self) -> str:
        """Returns why the reply cannot be used, or an empty string if it can.

        Raises CallFailed for a temporary error, since a later run may get an answer.
        """
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
    """Returns the reply that a program receives for a response.

    A refusal that ``Call.accept`` does not accept becomes an error, although it is an
    answer in the journal.
    """
    if response.is_refused and call.fault_in(response):
        reply = excerpt(response)
        reasons = "; ".join(response.warnings) or "it gave no reply"
        error = ErrorInfo("refused", "it declined" if reply else reasons, reply=reply)
        response = replace(response, output=None, error=error)
    return Reply(response, path, key)


def excerpt(response: Response) -> str:
    """Returns the beginning of an unacceptable reply, which its error quotes."""
    return shortened(" ".join(response.text.split()), MAX_EXCERPT_CHARS)


Program: TypeAlias = Generator[Call | Sequence[Call], Any, T]
"""Yields a call and receives a ``Reply``, or yields a sequence of independent calls and
receives a list of replies."""


class CallFailed(MmevalError):
    """The error that is raised if a program needs the answer of a failed call."""

    def __init__(self, error: ErrorInfo) -> None:
        self.error = error
        super().__init__(f"{error.kind}: {error.words}")


def ask_one(call: Call) -> Program[Reply]:
    """Yields one call and returns its typed reply.

    Use it as ``reply = yield from ask_one(call)``.
    """
    reply: Reply = yield call
    return reply


def ask_all(calls: Sequence[Call]) -> Program[list[Reply]]:
    """Yields independent calls at once. Returns their replies in the same order."""
    replies: list[Reply] = yield calls
    return replies


def next_calls(program: Program[T], sent: Any) -> Call | Sequence[Call]:
    """Sends a program the replies to its last calls, and returns its next calls.

    Raises the exceptions of the program, and StopIteration with the program's result.
    If a program yields another program, a TypeError is raised at that line.
    """
    yielded = program.send(sent)
    if isinstance(yielded, GeneratorType):
        yielded = program.throw(
            TypeError(f"write 'yield from' before {yielded.gi_code.co_name}(...)")
        )
    return yielded


def with_paths(yielded: Call | Sequence[Call], step: int) -> list[tuple[str, Call]]:
    """Returns the calls of one step, each with its path, such as ``0`` or ``2.1``."""
    if isinstance(yielded, Call):
        return [(f"{step}", yielded)]
    return [(f"{step}.{position}", call) for position, call in enumerate(yielded)]


def run_program(program: Program[T], answer: Callable[[Call, str], Reply]) -> T:
    """Runs a program in this thread; ``answer`` returns the reply to a call at a path.

    Raises the errors of the program and of ``answer``.
    """
    step = 0
    sent: Reply | list[Reply] | None = None
    while True:
        try:
            yielded = next_calls(program, sent)
        except StopIteration as stop:
            result: T = stop.value
            return result
        replies = [answer(call, path) for path, call in with_paths(yielded, step)]
        sent = replies[0] if isinstance(yielded, Call) else replies
        step += 1


@dataclass(frozen=True, slots=True)
class Role:
    """A role that a program calls, with its default parameters."""

    name: str
    params: GenerationParams = field(default_factory=GenerationParams)
    variants: Mapping[PartKind, Role] = field(default_factory=dict, hash=False)
    convert: tuple[str | Route, ...] = ()
    """The routes for calls without their own routes."""

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
        """Returns a call with one user message, which contains these parts in order."""
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
        """Returns a call with these messages; other arguments are as in ``Call``."""
        request = Request(tuple(messages), params or self.params, tuple(wants))
        return Call(
            self.name, request, accept, example, tuple(convert) or self.convert, title
        )

    def variant(self, kind: PartKind) -> Role:
        """Returns the variant for a kind of medium, or the role if it has none."""
        return self.variants.get(kind, self)
