"""Runs an agent without a run folder and records its steps.

The roles of the agent are answered by given replies or by real backends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from mmeval.authoring.metric_bench import asking
from mmeval.authoring.metric_cases import check_keys, medium_at, typed
from mmeval.authoring.testing.media import small_media
from mmeval.backend.agent.contract import Agent, AgentBackend
from mmeval.backend.create import create_backend
from mmeval.backend.tool import Tool
from mmeval.broker.acceptance import fault_of, reasoning_apart, unacceptable
from mmeval.broker.broker import MAX_DRAWS, Broker
from mmeval.broker.scope import Scope, Transcript
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PART_KINDS, Interleaved, Part, PartKind, media_part
from mmeval.media.written import ContentReader
from mmeval.plugins import load
from mmeval.program.calls import Call, Reply, ask_one, reply_to, run_program
from mmeval.records.request import Request
from mmeval.records.response import ERROR_KINDS, Response
from mmeval.records.sample import Sample, message
from mmeval.run.options import REASONING_TAGS, BackendSpec

_TAGS = ("span", "pair", "tag")
"""The spellings of media in a prompt. ``<gen_img1>`` is not included, because it
requests a picture and does not refer to an existing one."""
_KEYS = ("prompt", "files", "wants", "args", "replies", "id", "name")


@dataclass(frozen=True)
class AgentCase:
    """The request to an agent and the replies of its roles, as written by the user.

    ``replies`` maps each role to its replies, in order. A reply is a text, a list of
    parts, or ``{"error": KIND}``. If the replies of a role are null, the role does not
    exist. ``labels`` are returned with the result.
    """

    prompt: Any = ""
    files: tuple[str, ...] = ()
    wants: tuple[PartKind, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    replies: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentResult:
    """The response of an agent, and its calls with their replies, in order."""

    response: Response
    steps: Sequence[tuple[Call, Reply]]


def read_agent_case(values: Any) -> AgentCase:
    """Parses one line of a cases file. Raises UsageError for an invalid line."""
    check_keys(values, _KEYS)
    wants = typed(values, "wants", list) or []
    for kind in wants:
        if kind not in PART_KINDS:
            raise UnknownNameError("kind of part", str(kind), PART_KINDS)
    return AgentCase(
        prompt=values.get("prompt", ""),
        files=tuple(map(str, typed(values, "files", list) or ())),
        wants=tuple(wants),
        args=typed(values, "args", dict) or {},
        replies=typed(values, "replies", dict) or {},
        labels={key: values[key] for key in ("id", "name") if key in values},
    )


def load_agent(name: str) -> Agent:
    """Returns a registered agent. Raises UnknownNameError, or UsageError for a backend
    that is not an agent."""
    plugin = load("mmeval.model_backends", name)
    if not isinstance(plugin, Agent):
        raise UsageError(
            f"the backend {name!r} is not an agent, so it has no roles to reply for",
            name=name,
        )
    return plugin


class RoleReplies(Protocol):
    """Answers the calls of a role."""

    def answer(self, call: Call) -> Response: ...


@contextmanager
def replies_of_backends(
    agent: Agent, specs: Mapping[str, BackendSpec]
) -> Iterator[Mapping[str, RoleReplies]]:
    """Yields the replies of roles with a real backend. Raises UnknownNameError for a
    role that the agent does not have."""
    for role in specs:
        _check_role(agent, role)
    with asking(specs) as (broker, runner):
        yield {role: _BackendReplies(broker, runner) for role in specs}


def _check_role(agent: Agent, role: str) -> None:
    known = agent.possible_roles
    if role not in known:
        raise UnknownNameError(f"role of the agent {agent.name!r}", role, known)


def drive(
    agent: Agent,
    name: str,
    case: AgentCase,
    folder: Path,
    of_backends: Mapping[str, RoleReplies] = MappingProxyType({}),
) -> AgentResult:
    """Runs an agent on the replies of a case.

    The paths in the case are relative to ``folder``.

    The agent has all required roles, all tools, and the other roles with replies. A
    tool without replies returns small media of its kind. Any other role without replies
    returns the example in the call. ``of_backends`` replaces the replies of roles.
    Raises UsageError for an invalid case.
    """
    replies_by_role = {**_given_replies(agent, case, folder), **of_backends}
    backend = create_backend(name, case.args)
    assert isinstance(backend, AgentBackend)
    backend.cast(replies_by_role)
    files = [media_part(medium_at(folder, file)) for file in case.files]
    if isinstance(case.prompt, str):
        content = Interleaved.from_reply(case.prompt, files, spellings=_TAGS)
    else:
        reader = ContentReader(
            lambda path, _where: medium_at(folder, path), spellings=_TAGS
        )
        content = Interleaved((*reader.read(case.prompt, "prompt").parts, *files))
    outputs = backend.agent.gives
    default_kinds = tuple(
        kind for kind in backend.capabilities.outputs if kind in outputs
    )
    request = Request((message("user", content),), wants=case.wants or default_kinds)
    steps: list[tuple[Call, Reply]] = []

    def answer(call: Call, path: str) -> Reply:
        reply = reply_to(call, replies_by_role[call.role].answer(call), path)
        steps.append((call, reply))
        return reply

    gaps = backend.capabilities.missing(request)
    if gaps:
        refusal = Response.failed("unsupported", f"the agent {'; '.join(gaps)}")
        return AgentResult(refusal, ())
    return AgentResult(run_program(backend.program(request), answer), steps)


def result_of(result: AgentResult) -> dict[str, Any]:
    """Converts the result of a case to JSON values."""
    steps: list[dict[str, Any]] = []
    for call, reply in result.steps:
        texts: list[str] = []
        media: list[dict[str, Any]] = []
        for prompt in call.request.messages:
            if prompt.content.raw:
                texts.append(prompt.content.raw)
            for part in prompt.content.parts:
                if part.media is not None:
                    media.append({"kind": part.kind, **part.media.to_json()})
        step = {
            "path": reply.path,
            "role": call.role,
            "title": call.title,
            "text": "\n".join(texts),
            "media": media,
            "options": call.request.params.to_json(),
        }
        if reply.response.error is not None:
            step["error"] = reply.response.error.to_json()
        steps.append(step)
    output = result.response.output
    error = result.response.error
    return {
        "answer": None if output is None else output.raw,
        "parts": None if output is None else output.to_json(),
        "error": None if error is None else error.to_json(),
        "warnings": list(result.response.warnings),
        "evidence": result.response.evidence,
        "steps": steps,
    }


class _GivenReplies:
    """Answers the calls of a role with its given replies, in order."""

    def __init__(
        self, role: str, replies: Sequence[Response] | None, tool: Tool | None
    ) -> None:
        self._role = role
        self._tool = tool
        self._has_replies = replies is not None
        self._remaining = list(replies or ())
        self._media_count = 0

    def answer(self, call: Call) -> Response:
        """Returns the first acceptable reply to a call. If none of the replies tried is
        acceptable, it returns the last of them as a failure."""
        for _ in range(MAX_DRAWS):
            response = self._next(call)
            fault = fault_of(call, response)
            if not fault:
                return response
        return unacceptable(response, fault)

    def _next(self, call: Call) -> Response:
        if self._remaining:
            return self._remaining.pop(0)
        if self._tool is not None:
            kind = self._tool.makes
            count = self._tool.parts
            if not count:
                count = call.request.params.options_of(kind).get("n", 1)
            parts: list[Part] = []
            for _ in range(count):
                if kind in MEDIA_KINDS:
                    self._media_count += 1
                    medium = small_media(kind, self._media_count)
                    parts.append(media_part(medium, kind))
                else:
                    text = f"a small {kind}"
                    parts.append(Part(kind, text=text, raw=text))
            return Response(Interleaved(tuple(parts)))
        if call.example and not self._has_replies:
            return Response(Interleaved.from_text(call.example))
        return Response.failed(
            "no_answer", f"the case has no more replies for the role {self._role!r}"
        )


class _BackendReplies:
    """Answers the calls of a role with a real backend. Equal calls are sent
    separately."""

    def __init__(self, broker: Broker, runner: asyncio.Runner) -> None:
        self._broker = broker
        self._runner = runner
        self._scope = Scope("agent", Sample("agent", ()), share=False, by_content=True)
        self._transcript = Transcript()

    def answer(self, call: Call) -> Response:
        program = ask_one(call)
        answering = self._broker.run(program, self._scope, self._transcript)
        return self._runner.run(answering).response


def _given_replies(
    agent: Agent,
    case: AgentCase,
    folder: Path,
) -> dict[str, RoleReplies]:
    absent = set()
    for role, replies in case.replies.items():
        _check_role(agent, role)
        if replies is None:
            absent.add(role)
    needed = [role for role, is_needed in agent.signature.roles.items() if is_needed]
    for role in needed:
        if role in absent:
            raise UsageError(
                f"the agent {agent.name!r} needs the role {role!r}: give it a list "
                "of replies"
            )
    reader = ContentReader(lambda path, _where: medium_at(folder, path))
    replies_by_role: dict[str, RoleReplies] = {}
    for role in dict.fromkeys((*needed, *agent.tools, *case.replies)):
        if role in absent:
            continue
        written = typed(case.replies, role, list)
        responses = None
        if written is not None:
            responses = [_response(reply, reader, role) for reply in written]
        replies_by_role[role] = _GivenReplies(role, responses, agent.tools.get(role))
    return replies_by_role


def _response(
    written: Any,
    reader: ContentReader,
    role: str,
) -> Response:
    """Parses one reply written by the user. Raises UsageError if it is invalid."""
    if isinstance(written, str):
        content = Interleaved.from_text(written)
        return Response(reasoning_apart(content, *REASONING_TAGS))
    if isinstance(written, dict) and written.keys() == {"error"}:
        kind = written["error"]
        if kind not in ERROR_KINDS:
            raise UnknownNameError("kind of error", str(kind), ERROR_KINDS)
        return Response.failed(kind, "as the case says")
    return Response(reader.read(written, f"a reply of {role}"))
