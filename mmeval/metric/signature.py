"""Reads the kind, switches and roles of a metric from its function's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.errors import PluginError
from mmeval.metric.model import HubModel
from mmeval.program.prompt_file import JudgePrompt
from mmeval.system.arguments import FilePath, hint_of, marks_of

TRIAL = ("trial", "_trial", "_")
"""Allowed names of a metric's first argument. The last two are for a metric that does
not use this argument."""
TRIALS = ("trials", "_trials")
"""Allowed names of a batched metric's first argument."""
SCORES = "scores"
"""The name of the first argument of a derived metric."""
PIECES_SWITCH = "of"
"""The switch of a derived metric that names its pieces."""


class Signature(NamedTuple):
    """The switches of a metric with their defaults, and the roles that it calls."""

    switches: Mapping[str, Any]
    roles: tuple[str, ...]


def signature_of(
    name: str, function: Callable[..., Any], batch: object = None
) -> Signature:
    """Reads the signature of a metric.

    ``batch`` is the argument of its declaration.

    Raises PluginError for a function that cannot be a metric.
    """
    parameters = list(inspect.signature(function).parameters.values())
    first = ""
    if parameters and parameters[0].kind is not parameters[0].KEYWORD_ONLY:
        first = parameters[0].name
    role_parameters = [p for p in parameters[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
    switches = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    roles = tuple(p.name for p in role_parameters)
    if batch is not None or first in TRIALS:
        _check_batched(name, function, first, roles, batch)
    elif first not in (*TRIAL, SCORES):
        raise PluginError(
            f"the first argument of the metric {name!r} must be 'trial', as in def "
            f"{name}(trial, *, switch=1); "
            "trial.output is the answer, trial.sample has the references"
        )
    for switch, default in switches.items():
        if default is inspect.Parameter.empty:
            raise PluginError(
                f"the metric {name!r}: the switch {switch!r} needs a default"
            )
    optional = [p.name for p in role_parameters if p.default is not p.empty]
    if optional:
        raise PluginError(
            f"the metric {name!r}: write * before its switches ({', '.join(optional)})"
        )
    if roles and first in TRIAL and not inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the metric {name!r} has the role {roles[0]!r} but yields no calls; yield "
            "calls to it, or write * before the switches"
        )
    if first == SCORES:
        _check_derived(name, function, switches, roles)
    _check_marks(name, function, switches, first)
    return Signature(switches, roles)


def _check_batched(
    name: str,
    function: Callable[..., Any],
    first: str,
    roles: Sequence[str],
    batch: object,
) -> None:
    """Raises PluginError for a function that cannot score several trials at once."""
    if first not in TRIALS or type(batch) is not int or batch < 1:
        raise PluginError(
            f"the metric {name!r}: to score several answers at once, write "
            "@metric(..., batch=16) and "
            f"def {name}(trials, *, switch=1), and return one score for each trial"
        )
    if roles or inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the metric {name!r}: a metric with batch=N cannot call a role"
        )


def _check_derived(
    name: str,
    function: Callable[..., Any],
    switches: Mapping[str, Any],
    roles: Sequence[str],
) -> None:
    """Raises PluginError for a derived metric that needs more than scores."""
    if PIECES_SWITCH not in switches:
        raise PluginError(
            f"the derived metric {name!r} needs the switch 'of'; add of: list[str] = []"
        )
    if roles or inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the derived metric {name!r} cannot call a role; remove the role"
        )


def _check_marks(
    name: str, function: Callable[..., Any], switches: Mapping[str, Any], first: str
) -> None:
    """Raises PluginError for a switch whose mark is not allowed for this metric.

    Judged metrics cannot use models. Derived metrics cannot use models or prompts.
    """
    refused: tuple[type, ...] = (HubModel, JudgePrompt)
    reason = "is derived from scores"
    if inspect.isgeneratorfunction(function):
        refused, reason = (HubModel,), "calls a role"
    elif first != SCORES:
        return
    for switch in switches:
        for mark in marks_of(hint_of(function, switch), FilePath):
            if isinstance(mark, refused):
                raise PluginError(
                    f"the metric {name!r} {reason}, so it cannot use the switch "
                    f"{switch!r}. Use it in another metric, and combine both with a "
                    "derived metric"
                )
