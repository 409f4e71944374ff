"""Agents: model backends that are generators and call other roles.

    @agent(takes=("text", "image"), gives=("text", "image"), version="1")
    def illustrator(request, planner, text_to_image=None, *, rounds=2):
        plan = yield planner.ask(request.messages[-1].content, title="plan")
        drawn = yield text_to_image.call(plan.require().text, title="draw")
        return Interleaved((*plan.require().parts, *drawn.require().parts))

The arguments after ``request`` are the roles that the agent calls. If a role has the
name of a registered tool, the argument is this ``Tool``. A default of None makes a role
optional: in a run without the role, the argument is None. Keyword-only arguments come
from ``--model_args``, and their values are checked against the annotations. An agent is
registered as a model backend.
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
"""Output kinds that an agent can generate without a tool, because any role can."""


@dataclass(frozen=True)
class Agent:
    """An agent with its description. Call the agent with its arguments to create a
    backend.

    ``takes`` and ``gives`` are the input and output kinds of part. The keys of
    ``by_kind`` are roles that may have variants for kinds of media. Each value is the
    role that is called if no variant has a backend. Raise ``version`` whenever a change
    to the agent can change answers. ``asked`` are the names of the agent's prompts;
    without them, these are all prompts in its folder.
    """

    function: Callable[..., AgentProgram]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    version: str
    by_kind: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        signature = self.signature
        for role, other in self.by_kind.items():
            if signature.roles.get(role) is not False or other not in signature.roles:
                raise PluginError(
                    f"the agent {self.name!r}: by_kind must map an optional role to "
                    f"another role of the agent, not {role!r} to {other!r}"
                )
        folder = inspect.Parameter(
            PROMPTS, inspect.Parameter.KEYWORD_ONLY, default="", annotation=str
        )
        parameters = inspect.Signature([*signature.switches.values(), folder])
        # Help and argument checks read the same attributes as for a backend class.
        object.__setattr__(self, "__signature__", parameters)
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__doc__", self.function.__doc__)

    def __call__(
        self, *, prompts: str | Mapping[str, Any] = "", **args: Any
    ) -> AgentBackend:
        return AgentBackend(self, args, self.prompts(prompts))

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def signature(self) -> AgentSignature:
        return signature_of(self.function)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The roles that are tools."""
        tool_names = plugins.names("mmeval.tools")
        return {
            role: load_tool(role) for role in self.signature.roles if role in tool_names
        }

    @property
    def folder(self) -> Path:
        """The folder of the agent's module."""
        return Path(inspect.getfile(self.function)).parent

    @property
    def prompt_names(self) -> frozenset[str]:
        """The names of the prompts that the agent asks."""
        names = self.prompts().names
        return names.intersection(self.asked) if self.asked else names

    def prompts(self, given: str | Mapping[str, Any] = "") -> Prompts:
        """Returns the agent's prompts. The given prompts, or files of a given folder,
        replace them by name.

        Raises UsageError for a prompt that the agent cannot use.
        """
        return find_prompts(self.folder / PROMPTS, given)

    @property
    def possible_roles(self) -> tuple[str, ...]:
        """All roles that the agent can call, including variants."""
        roles = list(self.signature.roles)
        for role in self.by_kind:
            roles.extend(variants(role))
        return tuple(roles)

    def asks(self, present: Collection[str]) -> tuple[str, ...]:
        """Returns the roles that the agent calls in a run with these roles."""
        return tuple(role for role in self.possible_roles if role in present)

    def gap(self, kind: str, present: Collection[str]) -> str:
        """Returns the missing tool for an output kind.

        The string is empty if the agent can output this kind.
        """
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
    """An agent with its arguments. ``cast`` sets the roles that it uses in the run."""

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
        self.prompts = prompts
        self.identity = {
            "backend": agent.name,
            "version": agent.version,
            "source": _source_digest(agent),
            "prompts": prompts.digest,
            "arguments": self._args,
        }
        if prompts.released:
            self.identity["released"] = prompts.released
        self.cast(())

    def cast(
        self,
        present: Collection[str],
        params: Mapping[str, GenerationParams] | None = None,
        limits: AnswerLimits = USUAL_LIMITS,
    ) -> None:
        """Sets the roles of the run, the user's parameters for them, and the limits."""
        agent = self.agent
        self.called_roles = agent.asks(present)
        self.params = dict(params or {})
        self._limits = limits
        whole = Capabilities.of(agent.takes, agent.gives)
        gaps: dict[PartKind, str] = {}
        outputs: dict[PartKind, Limit] = {}
        for kind, limit in whole.outputs.items():
            tool = agent.gap(kind, present)
            if tool:
                gaps[kind] = tool
            else:
                outputs[kind] = limit
        self.capabilities = replace(whole, outputs=outputs, by_role=gaps)

    def program(self, request: Request) -> Program[Response]:
        agent = self.agent
        roles = [self._role(role) for role in agent.signature.roles]
        args = dict(self._args)
        if agent.signature.takes_prompts:
            args[PROMPTS] = self.prompts
        program = agent.function(request, *roles, **args)
        return driven(
            program, asks=self.called_roles, params=self.params, limits=self._limits
        )

    def _role(self, name: str) -> Role | Tool | None:
        """Returns the role to pass to the agent's function, or None if it is absent."""
        if name in self.agent.by_kind:
            role = role_for(name, self.params, self.called_roles)
            if name in self.called_roles:
                return role
            return replace(role, name=self.agent.by_kind[name])
        if name not in self.called_roles:
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
    asked: Sequence[str] = (),
) -> Callable[[Callable[..., AgentProgram]], Agent]:
    """Declares a generator as an agent. The arguments are those of ``Agent``.

    Raises PluginError for a function that cannot be an agent.
    """
    return lambda function: Agent(
        function, tuple(takes), tuple(gives), version, by_kind or {}, tuple(asked)
    )


def described_roles(agent: Agent) -> list[str]:
    """Returns the roles that an agent calls, with brackets around optional roles."""
    words = []
    for role, is_needed in agent.signature.roles.items():
        words.append(role if is_needed else f"[{role}]")
    return words


def agent_named(name: str) -> Agent | None:
    """Returns the registered agent of this name.

    The result is None if the name is unknown or belongs to another kind of backend.
    """
    try:
        backend = plugins.load("mmeval.model_backends", name)
    except MmevalError:  # The error is reported when the backend is created.
        return None
    return backend if isinstance(backend, Agent) else None


def _source_digest(agent: Agent) -> str:
    """Returns a digest of an agent's code.

    It covers the Python files of the agent's package, or its module if there is no
    package.

    If the agent is defined in a script or notebook, the digest covers only the
    function.
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
