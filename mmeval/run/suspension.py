"""Suspended scoring, when a judge is lost in the middle of a run. What was judged until
then stays, the rest has no verdict, and one command asks for it later."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.agent.casting import with_asked
from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, RoleLostError, sentence
from mmeval.metric.bound import BoundMetric
from mmeval.metric.contract import TRUST
from mmeval.records.score import Result
from mmeval.run.backends import roles_of
from mmeval.run.options import BackendSpec
from mmeval.secrets import hidden_names, without_secrets
from mmeval.task.task import Task

_PLAIN = re.compile(r"[A-Za-z_./~][\w./:@+~-]*")
"""A text that needs no quotes among the arguments of a role."""
_WORDS = ("true", "false", "null", "none")


@dataclass
class Suspension:
    """Which numbers of which tasks are suspended, and why; none in the beginning."""

    outputs: dict[str, set[str]] = field(default_factory=dict)
    """By task, the names of its suspended numbers."""
    losses: list[RoleLostError] = field(default_factory=list)
    """What was lost, each once."""

    def add(
        self,
        task: str,
        bound: BoundMetric,
        lost: RoleLostError,
        *,
        with_it: Collection[str] = (),
    ) -> bool:
        """Suspend a metric and the numbers made of it; return whether the loss is
        new."""
        self.outputs.setdefault(task, set()).update(bound.metric.outputs, with_it)
        if any(lost.reason == known.reason for known in self.losses):
            return False
        self.losses.append(lost)
        return True

    def covers(self, task: str, bound: BoundMetric) -> bool:
        return not self.outputs.get(task, set()).isdisjoint(bound.metric.outputs)

    def exit_code(self, otherwise: int) -> int:
        """A suspended run's exit code, whatever may be unscored; ``otherwise`` for
        others. 4 where something has to be supplied (another key, weights that are not
        there), else 3."""
        if not self.losses:
            return otherwise
        missing = any(lost.exit_code == EXIT_MISSING for lost in self.losses)
        return EXIT_MISSING if missing else EXIT_INCOMPLETE

    def complaints(self, results: Iterable[Result], way: str) -> Iterator[str]:
        """Why scoring was suspended, with the ``way`` to ask for missing verdicts
        alone."""
        missing: Counter[str] = Counter()
        for result in results:
            # a trial may lack the verdicts of several metrics
            if result.suspended and not result.slice:
                missing[result.task] = max(missing[result.task], result.unscored)
        count = missing.total()
        lack = f"{count:,} trial{' lacks' if count == 1 else 's lack'} a verdict"
        names = ", ".join(sorted(set().union(*self.outputs.values())))
        for lost in self.losses:
            yield (
                f"scoring by {names} was suspended: {sentence(lost.reason)} {lack}, "
                "what was judged is kept: "
                f"{lost.how_to_fix}, then {way}"
            )


def score_command(
    folder: Path,
    tasks: Iterable[Task],
    roles: Mapping[str, BackendSpec],
    recorded: Collection[str] = (),
) -> str:
    """``mmeval score`` with a run's judges, to go on with its scores. Hides secrets.

    The roles that the folder has ``recorded`` are asked without being named; one is
    named all the same where its secret is not kept.
    """
    bounds = [metric.bound for task in tasks for metric in task.metrics]
    judges = [role for bound in bounds for role in bound.asked_roles(roles)]
    asked = with_asked(judges, lambda role: roles_of(roles, role))
    words = ["mmeval", "score", str(folder)]
    for role, spec in roles.items():
        if role in asked and (
            role not in recorded or any(hidden_names(without_secrets(spec.args)))
        ):
            words += ["--role", ",".join((f"{role}={spec.name}", *_spelt(spec.args)))]
    if any(bound.params.get(TRUST) is True for bound in bounds):
        words.append(f"--{TRUST}")
    return shlex.join(words)


def _spelt(args: Mapping[str, Any]) -> Iterator[str]:
    for name, value in without_secrets(args).items():
        yield f"{name}={_text(value) if isinstance(value, str) else json.dumps(value)}"


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return f'"{value}"' if "'" in value else f"'{value}'"
