"""The contract of agents: a generator that asks other roles for its answer.

    @agent(takes=("text", "image"), gives=("text", "image"), version="1")
    def illustrator(request, planner, text_to_image=None, *, rounds=2):
        plan = yield planner.ask(request.messages[-1].content, title="plan")
        drawn = yield text_to_image.call(plan.require().text, title="draw")
        return Interleaved((*plan.require().parts, *drawn.require().parts))

Arguments behind ``request`` are the roles that it asks; one that is named like a
registered tool is given as that ``Tool``. A default of None makes a role optional: it
is None in a run without it. Keyword-only arguments are those of ``--model_args``, their
values checked by their annotations. An agent is registered as a model backend.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval.backend.agent.answer import AgentProgram, driven
from mmeval.backend.agent.limits import USUAL_LIMITS, AnswerLimits
from mmeval.backend.agent.prompts import Prompts, find_prompts
from mmeval.backend.agent.signature import PROMPTS, AgentSignature, signature_of
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.backend.tool import Tool, load_tool
from mmeval.errors import MmevalError, PluginError
from mmeval.media.parts import PartKind
from mmeval.program.calls import Program, Role
from mmeval.program.role_variants import role_for, variants
from mmeval.records.digests import code_digest, digest
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import Response

_WITHOUT_TOOL: frozenset[PartKind] = frozenset(("text", "code"))
"""Kinds that any role gives, so that an agent gives them without the tool that makes
them."""


@dataclass(frozen=True)
class Agent:
    """An agent with its description; called with its arguments, it is a backend.

    ``takes`` and ``gives`` are kinds of part. ``by_kind`` maps the roles that may have
    variants for kinds of media to the role that is asked where none of them has a
    backend. ``version`` is raised with whatever changes its answers.
    """

    function: Callable[..., AgentProgram]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    version: str
    by_kind: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        signature = self.signature
        for role, other in self.by_kind.items():
            if signature.roles.get(role) is not False or other not in signature.roles:
                raise PluginError(
                    f"the agent {self.name!r}: by_kind maps an optional role to "
                    "another of its roles"
                )
        folder = inspect.Parameter(
            PROMPTS, inspect.Parameter.KEYWORD_ONLY, default="", annotation=str
        )
        parameters = inspect.Signature([*signature.switches.values(), folder])
        # as a class has them that is registered as backend
        object.__setattr__(self, "__signature__", parameters)
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__doc__", self.function.__doc__)

    def __call__(self, *, prompts: str = "", **args: Any) -> AgentBackend:
        return AgentBackend(self, args, self.prompts(prompts))

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def signature(self) -> AgentSignature:
        return signature_of(self.function)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """Its roles that are tools."""
        known = plugins.names("mmeval.tools")
        return {role: load_tool(role) for role in self.signature.roles if role in known}

    @property
    def folder(self) -> Path:
        """Where its module lies."""
        return Path(inspect.getfile(self.function)).parent

    def prompts(self, folder: str = "") -> Prompts:
        """Its prompts, with those of a folder in place of its own. Raises UsageError
        for one that it cannot use."""
        return find_prompts(self.folder / PROMPTS, folder)

    @property
    def may_ask(self) -> tuple[str, ...]:
        """The roles that it asks in some run."""
        roles = list(self.signature.roles)
        for role in self.by_kind:
            roles.extend(variants(role))
        return tuple(roles)

    def asks(self, present: Collection[str]) -> tuple[str, ...]:
        """The roles that it asks where these are present."""
        return tuple(role for role in self.may_ask if role in present)

    def gap(self, kind: str, present: Collection[str]) -> str:
        """The tool without which it does not give a kind; empty where it does."""
        if kind in _WITHOUT_TOOL:
            return ""
        first_maker = ""
        for role, tool in self.tools.items():
            if tool.makes != kind:
                continue
            if role in present:
                return ""
            first_maker = first_maker or role
        return first_maker


class AgentBackend:
    """An agent with its arguments. ``cast`` says which roles a run has."""

    provenance: Mapping[str, Any] = {}

    def __init__(
        self,
        agent: Agent,
        args: Mapping[str, Any],
        prompts: Prompts,
    ) -> None:
        self.agent = agent
        self._args = {
            name: args.get(name, p.default)
            for name, p in agent.signature.switches.items()
        }
        self._prompts = prompts
        self.identity = {
            "backend": agent.name,
            "version": agent.version,
            "source": _source_digest(agent),
            "prompts": prompts.digest,
            "arguments": self._args,
        }
        self.cast(())

    def cast(
        self,
        present: Collection[str],
        params: Mapping[str, GenerationParams] | None = None,
        limits: AnswerLimits = USUAL_LIMITS,
    ) -> None:
        """Set the roles of the run, the user's parameters of them, and the limits of an
        answer."""
        agent = self.agent
        self.asked = agent.asks(present)
        self.params = dict(params or {})
        self._limits = limits
        whole = Capabilities.of(agent.takes, agent.gives)
        gaps: dict[PartKind, str] = {}
        given: dict[PartKind, Limit] = {}
        for kind, limit in whole.outputs.items():
            tool = agent.gap(kind, present)
            if tool:
                gaps[kind] = tool
            else:
                given[kind] = limit
        self.capabilities = replace(whole, outputs=given, by_role=gaps)

    def program(self, request: Request) -> Program[Response]:
        agent = self.agent
        roles = [self._role(role) for role in agent.signature.roles]
        args = dict(self._args)
        if agent.signature.takes_prompts:
            args[PROMPTS] = self._prompts
        program = agent.function(request, *roles, **args)
        return driven(program, asks=self.asked, params=self.params, limits=self._limits)

    def _role(self, name: str) -> Role | Tool | None:
        """A role as the function is given it."""
        if name in self.agent.by_kind:
            role = role_for(name, self.params, self.asked)
            if name in self.asked:
                return role
            return replace(role, name=self.agent.by_kind[name])
        if name not in self.asked:
            return None
        return self.agent.tools.get(name) or role_for(name, self.params, ())

    async def close(self) -> None:
        pass


def agent(
    *,
    takes: Sequence[str],
    gives: Sequence[str],
    version: str,
    by_kind: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., AgentProgram]], Agent]:
    """Describe a generator as an agent; the arguments are as in ``Agent``.

    Raises PluginError for a function that cannot be one.
    """
    return lambda function: Agent(
        function, tuple(takes), tuple(gives), version, by_kind or {}
    )


def asked_words(agent: Agent) -> list[str]:
    """The roles that an agent asks, those in brackets if the run has them."""
    words = []
    for role, is_needed in agent.signature.roles.items():
        words.append(role if is_needed else f"[{role}]")
    return words


def agent_named(name: str) -> Agent | None:
    """The agent that is registered under a name; None for another backend, or none."""
    try:
        found = plugins.load("mmeval.model_backends", name)
    except MmevalError:  # it is reported where the backend is made
        return None
    return found if isinstance(found, Agent) else None


def _source_digest(agent: Agent) -> str:
    """A digest of an agent's code: the Python files of its package's folder, or its
    module.

    Of an agent that a script or a notebook has made itself it is that of the function
    alone.
    """
    function = agent.function
    if function.__module__ == "__main__":
        return code_digest(function)
    module = Path(inspect.getfile(function))
    if not module.is_file():
        return code_digest(function)
    files = [module]
    if (agent.folder / "__init__.py").is_file():
        files = sorted(agent.folder.glob("*.py"))
    digests = {}
    for file in files:
        digests[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return digest(digests)
