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
"""Names of the first argument of a metric; the last two where it is not read."""
TRIALS = ("trials", "_trials")
"""Names of the first argument of a batched metric."""
SCORES = "scores"
"""The name of the first argument of a derived metric."""
PIECES_SWITCH = "of"
"""The switch of a derived metric that names its pieces."""


class Signature(NamedTuple):
    """The switches of a metric with their defaults, and the roles that it asks."""

    switches: Mapping[str, Any]
    roles: tuple[str, ...]


def signature_of(
    name: str, function: Callable[..., Any], batch: object = None
) -> Signature:
    """The signature of a metric called ``name``, with its description's ``batch``.
    Raises PluginError for a function that cannot be a metric."""
    parameters = list(inspect.signature(function).parameters.values())
    first = ""
    if parameters and parameters[0].kind is not parameters[0].KEYWORD_ONLY:
        first = parameters[0].name
    asked = [p for p in parameters[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
    switches = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    roles = tuple(p.name for p in asked)
    if batch is not None or first in TRIALS:
        _check_batched(name, function, first, roles, batch)
    elif first not in (*TRIAL, SCORES):
        raise PluginError(
            f"the metric {name!r}: its first argument must be 'trial', as in def "
            f"{name}(trial, *, switch=1); "
            "trial.output is the answer, trial.sample has the references"
        )
    for switch, default in switches.items():
        if default is inspect.Parameter.empty:
            raise PluginError(
                f"the metric {name!r}: the switch {switch!r} needs a default"
            )
    optional = [p.name for p in asked if p.default is not p.empty]
    if optional:
        raise PluginError(
            f"the metric {name!r}: write * before its switches ({', '.join(optional)})"
        )
    if roles and first in TRIAL and not inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the metric {name!r} has the role {roles[0]!r} and no yield: yield the "
            "calls to it, or write * before its "
            "switches"
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
    """Raises PluginError for a function that cannot score many trials at once."""
    if first not in TRIALS or type(batch) is not int or batch < 1:
        raise PluginError(
            f"the metric {name!r}: one that scores many answers at once is written "
            "@metric(..., batch=16) and "
            f"def {name}(trials, *, switch=1), and returns one score for each of the "
            "trials"
        )
    if roles or inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the metric {name!r}: one that scores many answers at once cannot ask a "
            "role"
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
            f"the metric {name!r}: it is made of scores, so that it needs the switch "
            "of: list[str] = []"
        )
    if roles or inspect.isgeneratorfunction(function):
        raise PluginError(
            f"the metric {name!r}: it is made of scores, so that it cannot ask a role"
        )


def _check_marks(
    name: str, function: Callable[..., Any], switches: Mapping[str, Any], first: str
) -> None:
    """Raises PluginError for switches that name what the metric never opens. Models are
    for metrics of answers, and not where roles are asked or scores combined."""
    refused: tuple[type, ...] = (HubModel, JudgePrompt)
    made = "is made of scores"
    if inspect.isgeneratorfunction(function):
        refused, made = (HubModel,), "asks a role"
    elif first != SCORES:
        return
    for switch in switches:
        for mark in marks_of(hint_of(function, switch), FilePath):
            if isinstance(mark, refused):
                raise PluginError(
                    f"the metric {name!r}: it {made}, so that it cannot use what its "
                    f"switch {switch!r} names; leave "
                    "that to a metric of the answer, and make one number of both by a "
                    "derived metric"
                )
