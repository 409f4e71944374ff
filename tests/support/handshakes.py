"""Models that a test writes down, asked by the programs of a handshake."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mmeval.backend.probe import Probe, Verdict
from mmeval.program.calls import Call, Program, Reply, Role, run_program
from mmeval.records.request import Request
from mmeval.records.response import ErrorKind, Response, Usage
from tests.support.toy import reply

T = TypeVar("T")
Answer = Callable[[Request], Response]
MODEL = Role("model")


def outcome(program: Program[T], answer: Answer) -> tuple[T, list[Request]]:
    """What a program returns, and the requests that it sent."""
    requests: list[Request] = []

    def answered(call: Call, path: str) -> Reply:
        requests.append(call.request)
        return Reply(answer(call.request), path)

    return run_program(program, answered), requests


def in_turn(*responses: Response) -> Answer:
    """A model that gives these responses one after the other."""
    remaining = iter(responses)
    return lambda _: next(remaining)


def counted(text: str, tokens: int) -> Response:
    """A reply whose server counts these prompt tokens."""
    return replace(reply(text), usage=Usage(tokens, 1))


def failed(kind: ErrorKind = "bad_request") -> Response:
    return Response.failed(kind, "not supported")


def question(request: Request) -> str:
    """The text of the last message."""
    parts = request.messages[-1].content.parts
    return "".join(part.raw for part in parts if part.media is None)


def verdicts(probes: Sequence[Probe]) -> Mapping[str, Verdict]:
    return {probe.capability: probe.verdict for probe in probes}
