"""Bench for agents: drives one without a run, on given replies or by asking its roles,
and notes its steps."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mmeval.authoring.metric_bench import asking
from mmeval.authoring.metric_cases import medium_at, typed
from mmeval.authoring.testing.media import small_media
from mmeval.backend.agent.contract import Agent, AgentBackend
from mmeval.backend.create import create_backend
from mmeval.backend.tool import Tool
from mmeval.broker.broker import (
    JUDGE_TRIES,
    Broker,
    Scope,
    fault_of,
    reasoning_apart,
    unacceptable,
)
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PART_KINDS, Interleaved, Part, PartKind, media_part
from mmeval.media.written import ContentReader
from mmeval.plugins import load
from mmeval.program.calls import Call, Reply, ask_one, followed, reply_to
from mmeval.records.request import Request
from mmeval.records.response import ERROR_KINDS, Response
from mmeval.records.sample import Sample, message
from mmeval.run.options import REASONING_TAGS, BackendSpec

_TAGS = ("span", "pair", "tag")
"""The spellings of media in a prompt: one that names ``<gen_img1>`` asks for that
picture, and does not show it."""
_KEYS = ("prompt", "files", "wants", "args", "replies", "id", "name")


@dataclass(frozen=True)
class AgentCase:
    """What an agent is asked, as it is written, and what it is answered.

    ``replies`` are those of each role, in order: texts, lists of parts, and ``{"error":
    KIND}``. A role whose replies are null is not there. ``labels`` are returned with
    the result.
    """

    prompt: Any = ""
    files: tuple[str, ...] = ()
    wants: tuple[PartKind, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    replies: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Driven:
    """The response of an agent, and its calls with their replies, in order."""

    response: Response
    steps: Sequence[tuple[Call, Reply]]


def read_agent_case(values: Any) -> AgentCase:
    """Parse one line of a file of cases. Raises UsageError."""
    if not isinstance(values, dict):
        raise UsageError("a case is an object with any of " + ", ".join(_KEYS))
    for key in values:
        if key not in _KEYS:
            raise UnknownNameError("key of a case", key, _KEYS)
    return AgentCase(
        prompt=values.get("prompt", ""),
        files=tuple(map(str, typed(values, "files", list) or ())),
        wants=tuple(map(_kind, typed(values, "wants", list) or ())),
        args=typed(values, "args", dict) or {},
        replies=typed(values, "replies", dict) or {},
        labels={key: values[key] for key in ("id", "name") if key in values},
    )


def _kind(written: Any) -> PartKind:
    if written not in PART_KINDS:
        raise UnknownNameError("kind of part", str(written), PART_KINDS)
    kind: PartKind = written
    return kind


def agent_called(name: str) -> Agent:
    """A registered agent. Raises UnknownNameError, or UsageError for another
    backend."""
    found = load("mmeval.model_backends", name)
    if not isinstance(found, Agent):
        raise UsageError(
            f"the backend {name!r} is no agent: it has no roles that could be given "
            "replies",
            name=name,
        )
    return found


class Player(Protocol):
    """What answers the calls of a role."""

    def answer(self, call: Call) -> Response: ...


@contextmanager
def asked_players(
    agent: Agent, specs: Mapping[str, BackendSpec]
) -> Iterator[Mapping[str, Player]]:
    """Players of roles that are really asked. Raises UnknownNameError for a role that
    the agent does not have."""
    for role in specs:
        if role not in (known := agent.may_ask):
            raise UnknownNameError(f"role of the agent {agent.name!r}", role, known)
    with asking(specs) as (broker, runner):
        yield {role: _Asked(broker, runner) for role in specs}


def drive(
    agent: Agent,
    name: str,
    case: AgentCase,
    folder: Path,
    asked: Mapping[str, Player] | None = None,
) -> Driven:
    """Drive an agent on the replies of a case; its paths are relative to ``folder``.

    Every role that it needs and every tool is there, and the others that have replies.
    A tool without replies gives small media of its kind, any other role the example of
    the call; those of ``asked`` are really asked. Raises UsageError for a case that
    cannot be used.
    """
    players = {**_players(agent, case, folder), **(asked or {})}
    backend = create_backend(name, case.args)
    assert isinstance(backend, AgentBackend)
    backend.cast(players)
    request = _request(backend, case, folder)
    steps: list[tuple[Call, Reply]] = []

    def answer(call: Call, path: str) -> Reply:
        reply = reply_to(call, players[call.role].answer(call), path)
        steps.append((call, reply))
        return reply

    if gaps := backend.capabilities.missing(request):
        return Driven(
            Response.failed("unsupported", f"the agent {'; '.join(gaps)}"), ()
        )
    return Driven(followed(backend.program(request), answer), steps)


def result_of(driven: Driven) -> dict[str, Any]:
    """The result of a case, as JSON."""
    response = driven.response
    assert response.trace is not None or not driven.steps
    return {
        "answer": None if response.output is None else response.output.raw,
        "parts": None if response.output is None else response.output.to_json(),
        "error": None if response.error is None else response.error.to_json(),
        "warnings": list(response.warnings),
        "evidence": response.evidence,
        "steps": [_step(call, reply) for call, reply in driven.steps],
    }


def _step(call: Call, reply: Reply) -> dict[str, Any]:
    """A step: what was asked, and the error that came."""
    asked = [message.content for message in call.request.messages]
    error = reply.response.error
    return {
        "path": reply.path,
        "role": call.role,
        "title": call.title,
        "text": "\n".join(text for content in asked if (text := content.raw)),
        "media": [
            {"kind": part.kind, **part.media.to_json()}
            for content in asked
            for part in content.parts
            if part.media is not None
        ],
        "options": call.request.params.to_json(),
        **({} if error is None else {"error": error.to_json()}),
    }


class _Player:
    """Gives the replies of a role, one after the other."""

    def __init__(
        self, role: str, replies: Sequence[Response] | None, tool: Tool | None
    ) -> None:
        self._role, self._tool, self._given = role, tool, replies is not None
        self._left = list(replies or ())
        self._made: Counter[PartKind] = Counter()

    def answer(self, call: Call) -> Response:
        """The first acceptable reply of those that are drawn for a call, or its last
        one as a failure."""
        for _ in range(JUDGE_TRIES):
            response = self._next(call)
            fault = fault_of(call, response)
            if not fault:
                return response
        return unacceptable(response, fault)

    def _next(self, call: Call) -> Response:
        if self._left:
            return self._left.pop(0)
        if self._tool is not None:
            kind = self._tool.makes
            parts = self._tool.parts or call.request.params.options_of(kind).get("n", 1)
            return Response(Interleaved(tuple(self._small(kind) for _ in range(parts))))
        if not self._given and call.example:
            return Response(Interleaved.from_text(call.example))
        return Response.failed(
            "no_answer", f"the case has no more replies of the role {self._role!r}"
        )

    def _small(self, kind: PartKind) -> Part:
        if kind not in MEDIA_KINDS:
            return Part(kind, text=f"a small {kind}", raw=f"a small {kind}")
        self._made[kind] += 1
        return media_part(small_media(kind, self._made[kind]), kind)


class _Asked:
    """Asks a role; equal calls are told apart."""

    def __init__(self, broker: Broker, runner: asyncio.Runner) -> None:
        self._broker, self._runner = broker, runner
        self._scope = Scope("agent", Sample("agent", ()), share=False, by_content=True)

    def answer(self, call: Call) -> Response:
        return self._runner.run(self._broker.run(ask_one(call), self._scope)).response


def _players(agent: Agent, case: AgentCase, folder: Path) -> dict[str, Player]:
    known = agent.may_ask
    for role in case.replies:
        if role not in known:
            raise UnknownNameError(f"role of the agent {agent.name!r}", role, known)
    needed = [role for role, needed in agent.signature.roles.items() if needed]
    absent = {role for role, replies in case.replies.items() if replies is None}
    if lacking := [role for role in needed if role in absent]:
        raise UsageError(
            f"the agent {agent.name!r} needs the role {lacking[0]!r}: give it a list "
            "of replies"
        )
    reader = ContentReader(lambda path, _where: medium_at(folder, path))
    found: dict[str, Player] = {}
    for role in dict.fromkeys((*needed, *agent.tools, *case.replies)):
        if role in absent:
            continue
        replies = typed(case.replies, role, list)
        given = (
            None
            if replies is None
            else [_response(reply, reader, role) for reply in replies]
        )
        found[role] = _Player(role, given, agent.tools.get(role))
    return found


def _response(written: Any, reader: ContentReader, role: str) -> Response:
    """One reply, as it is written. Raises UsageError."""
    if isinstance(written, str):
        return Response(
            reasoning_apart(Interleaved.from_text(written), *REASONING_TAGS)
        )
    if isinstance(written, dict) and written.keys() == {"error"}:
        kind = written["error"]
        if kind not in ERROR_KINDS:
            raise UnknownNameError("kind of error", str(kind), ERROR_KINDS)
        return Response.failed(kind, "as the case says")
    return Response(reader.read(written, f"a reply of {role}"))


def _request(backend: AgentBackend, case: AgentCase, folder: Path) -> Request:
    reader = ContentReader(
        lambda path, _where: medium_at(folder, path), spellings=_TAGS
    )
    files = [media_part(medium_at(folder, name)) for name in case.files]
    if isinstance(case.prompt, str):
        content = Interleaved.from_reply(case.prompt, files, spellings=_TAGS)
    else:
        content = Interleaved((*reader.read(case.prompt, "prompt").parts, *files))
    given = [
        kind for kind in backend.capabilities.outputs if kind in backend.agent.gives
    ]
    return Request((message("user", content),), wants=tuple(case.wants or given))
