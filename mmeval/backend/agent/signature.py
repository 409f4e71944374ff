"""Reads the roles and switches of an agent from its function's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mmeval.errors import PluginError

REQUEST = ("request", "_request", "_")
"""Allowed names of an agent's first argument. The last two are for an unused
argument."""
PROMPTS = "prompts"
"""The name of the keyword argument for the agent's prompts. The user's argument for a
folder of prompts has the same name."""


class AgentSignature(NamedTuple):
    """The roles and arguments of an agent.

    ``roles`` maps each role to True if the role is required, else to False.
    ``switches`` are all keyword arguments except ``prompts``. ``takes_prompts`` is True
    if the function has the argument ``prompts``.
    """

    roles: Mapping[str, bool]
    switches: Mapping[str, inspect.Parameter]
    takes_prompts: bool


def signature_of(function: Callable[..., Any]) -> AgentSignature:
    """Reads the signature of an agent.

    Raises PluginError for a function that cannot be an agent.
    """
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
                    f"the agent {name!r}: the default of the role {parameter.name!r} "
                    "must be None; write * before arguments that are not roles"
                )
            roles[parameter.name] = not has_default
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            raise PluginError(
                f"the agent {name!r}: the argument {parameter} is not allowed; name "
                "each role and argument"
            )
        elif parameter.name != PROMPTS:
            if not has_default:
                raise PluginError(
                    f"the agent {name!r}: the argument {parameter.name!r} needs a "
                    "default"
                )
            switches[parameter.name] = parameter
    return AgentSignature(roles, switches, takes_prompts)
