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
    takes_request = first is not None and first.name in REQUEST
    if not takes_request or not inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the agent {name!r} must be a generator whose first argument is "
            "'request', as in "
            f"def {name}(request, planner, text_to_image=None, *, rounds=2)"
        )
    roles: dict[str, bool] = {}
    switches: dict[str, inspect.Parameter] = {}
    takes_prompts = False
    for parameter in others:
        takes_prompts = takes_prompts or parameter.name == PROMPTS
        has_default = parameter.default is not parameter.empty
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            if has_default and parameter.default is not None:
                raise PluginError(
                    f"the agent {name!r}: {parameter.name} is a role, whose only "
                    "default is None; write * before arguments"
                )
            roles[parameter.name] = not has_default
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            raise PluginError(
                f"the agent {name!r}: {parameter} names no role and no argument; "
                "write each by its name"
            )
        elif parameter.name != PROMPTS:
            if not has_default:
                raise PluginError(
                    f"the agent {name!r}: the argument {parameter.name!r} needs a "
                    "default"
                )
            switches[parameter.name] = parameter
    return AgentSignature(roles, switches, takes_prompts)
