"""Gives each agent of a run its roles, and checks the roles before the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mmeval.backend.agent.contract import Agent, AgentBackend
from mmeval.backend.agent.limits import USUAL_LIMITS, AnswerLimits
from mmeval.backend.contract import AnyBackend
from mmeval.errors import MissingError, PluginError, UsageError
from mmeval.records.digests import canonical_json
from mmeval.records.request import GenerationParams


def cast(
    backends: Mapping[str, AnyBackend],
    params: Mapping[str, GenerationParams],
    limits: AnswerLimits = USUAL_LIMITS,
) -> None:
    """Gives the agents of a run their roles.

    ``params`` are the user's generation parameters, by role.

    Raises MissingError for a missing role of an agent. Raises UsageError if an agent
    calls itself, directly or through another agent, or if the backend for a tool's role
    cannot read the input or generate the output of the tool.
    """
    done: set[int] = set()

    def visit(role: str, above: tuple[str, ...]) -> None:
        backend = backends[role]
        if not isinstance(backend, AgentBackend):
            return
        agent = backend.agent
        for place, other in enumerate(above):
            if backends[other] is backend:
                path = " calls ".join((*above[place:], role))
                raise UsageError(
                    f"the agent {agent.name!r} calls itself ({path}); use another "
                    f"backend for the role {role}"
                )
        if id(backend) in done:
            return
        _check_needed(agent, backends)
        for called in agent.asks(backends):
            visit(called, (*above, role))
        _check_tools(agent, backends)
        backend.cast(backends, params, limits)
        done.add(id(backend))

    for role in backends:
        visit(role, ())


def _check_needed(agent: Agent, backends: Mapping[str, AnyBackend]) -> None:
    needed = [role for role, is_needed in agent.signature.roles.items() if is_needed]
    missing = [role for role in needed if role not in backends]
    if missing:
        flags = " ".join(f"--role {role}=BACKEND" for role in missing)
        names = ", ".join(map(repr, missing))
        raise MissingError(
            f"missing roles that the agent {agent.name!r} calls: {names}; add {flags}",
            name=missing[0],
        )


def _check_tools(agent: Agent, backends: Mapping[str, AnyBackend]) -> None:
    for role, tool in agent.tools.items():
        if role not in backends:
            continue
        capabilities = backends[role].capabilities
        if tool.makes not in capabilities.outputs:
            outputs = ", ".join(capabilities.outputs)
            how = f"choose a backend with {tool.makes} as output"
            if tool.makes in capabilities.declarable:
                how = (
                    f"if the model can generate {tool.makes}, add the argument "
                    f"outputs={tool.makes}"
                )
            raise UsageError(
                f"--role {role}: the tool must generate {tool.makes}, but the outputs "
                f"of this backend are {outputs}; {how}",
                name=role,
            )
        unread = [kind for kind in tool.takes if kind not in capabilities.inputs]
        if unread:
            sent = ", ".join(tool.takes)
            inputs = ", ".join(capabilities.inputs)
            raise UsageError(
                f"--role {role}: the tool sends {sent}, but the inputs of this backend "
                f"are {inputs}; choose a backend with {', '.join(unread)} as input",
                name=role,
            )
        unsent = sorted(capabilities.required_inputs - {*tool.takes})
        if unsent:
            raise UsageError(
                f"--role {role}: the tool sends {', '.join(tool.takes)}, but this "
                f"backend also needs {', '.join(unsent)}; choose another one",
                name=role,
            )


def with_called_roles(
    roles: Iterable[str], asks: Callable[[str], Sequence[str]]
) -> tuple[str, ...]:
    """Returns these roles and all roles that they call, directly or through others.

    ``asks`` returns the roles that a role calls directly.
    """
    called = dict.fromkeys(roles)
    pending = list(called)
    while pending:
        more = [role for role in asks(pending.pop()) if role not in called]
        called.update(dict.fromkeys(more))
        pending += more
    return tuple(called)


def roles_called_by(backends: Mapping[str, AnyBackend], role: str) -> tuple[str, ...]:
    """Returns the roles that a role calls directly, with these backends."""
    backend = backends.get(role)
    return backend.called_roles if isinstance(backend, AgentBackend) else ()


def identity_of(role: str, backends: Mapping[str, AnyBackend]) -> dict[str, Any]:
    """Returns the identity of a role's backend.

    The identity of an agent includes the roles that it calls.

    Raises PluginError if the identity is not a JSON object.
    """
    backend = backends[role]
    identity = _own_identity(role, backend)
    if isinstance(backend, AgentBackend):
        _, *others = with_called_roles(
            [role], lambda name: roles_called_by(backends, name)
        )
        roles = {}
        for name in sorted(others):
            roles[name] = _own_identity(name, backends[name])
            params = backend.params.get(name)
            if params is not None:
                roles[name]["gen"] = params.to_json()
        identity["roles"] = roles
    return identity


def _own_identity(role: str, backend: AnyBackend) -> dict[str, Any]:
    identity = backend.identity
    if not isinstance(identity, Mapping):
        raise PluginError(
            f"the identity of the backend for the role {role} must be a mapping, but "
            f"it is a {type(identity).__name__}",
            name=role,
        )
    for name, value in identity.items():
        try:
            canonical_json({name: value})
        except (TypeError, ValueError, RecursionError) as error:
            raise PluginError(
                f"the identity of the backend for the role {role} cannot be written as "
                f"JSON: {name!r} is a {type(value).__name__}; use a string, a number, "
                "a list or a mapping",
                name=role,
            ) from error
    return dict(identity)
