"""Reads the roles and switches of an agent from its function's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mmeval.errors import PluginError

REQUEST = ("request", "_request", "_")
"""Names of the first argument of an agent; the last two where it is not read."""
PROMPTS = "prompts"
"""The keyword argument that is given the agent's prompts, and the argument that names a
folder of them."""


class AgentSignature(NamedTuple):
    """Whom an agent asks, and how it may be set.

    ``roles`` maps each role to whether the agent needs it; ``switches`` are the keyword
    arguments with their defaults, without the prompts, which it is given where it
    ``takes_prompts``.
    """

    roles: Mapping[str, bool]
    switches: Mapping[str, inspect.Parameter]
    takes_prompts: bool


def signature_of(function: Callable[..., Any]) -> AgentSignature:
    """The signature of an agent. Raises PluginError for a function that cannot be
    one."""
    name = function.__name__
    first, *others = inspect.signature(function).parameters.values() or (None,)
    if (
        first is None
        or first.name not in REQUEST
        or not inspect.isgeneratorfunction(function)
    ):
        raise PluginError(
            f"the agent {name!r} must be a generator whose first argument is "
            "'request', as in "
            f"def {name}(request, planner, text_to_image=None, *, rounds=2)"
        )
    for parameter in others:
        if parameter.kind not in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise PluginError(
                f"the agent {name!r}: {parameter} names no role and no argument; "
                "write each by its name"
            )
    asked = [p for p in others if p.kind is p.POSITIONAL_OR_KEYWORD]
    switches = {
        p.name: p for p in others if p.kind is p.KEYWORD_ONLY and p.name != PROMPTS
    }
    for parameter in asked:
        if parameter.default not in (parameter.empty, None):
            raise PluginError(
                f"the agent {name!r}: {parameter.name} is a role, whose only default "
                "is None; write * before arguments"
            )
    for parameter in switches.values():
        if parameter.default is parameter.empty:
            raise PluginError(
                f"the agent {name!r}: the argument {parameter.name!r} needs a default"
            )
    roles = {p.name: p.default is p.empty for p in asked}
    return AgentSignature(roles, switches, any(p.name == PROMPTS for p in others))
