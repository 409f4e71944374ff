"""Suspends scoring after a judge is lost during a run.

Earlier verdicts are kept, and one command requests the missing verdicts later.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.backend.agent.casting import with_called_roles
from mmeval.errors import (
    EXIT_MISSING,
    KeyRefusedError,
    RoleLostError,
    UnreadableJudgeError,
    sentence,
)
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.metric.bound import BoundMetric
from mmeval.metric.contract import TRUST
from mmeval.records.score import Result
from mmeval.run.backends import roles_of
from mmeval.run.options import BackendSpec
from mmeval.system.secrets import hidden_names, without_secrets
from mmeval.task.task import Task

ANOTHER_JUDGE = "--judge openai,model=NAME,base_url=URL"
"""The flag that names another judge, as it appears in a suggested command."""
_PLAIN = re.compile(r"[A-Za-z_./~][\w./:@+~-]*")
"""Matches a value that needs no quotes among the arguments of a role."""
_WORDS = ("true", "false", "null", "none")


@dataclass
class Suspension:
    """The suspended numbers by task, and the reasons."""

    outputs: dict[str, set[str]] = field(default_factory=dict)
    """The names of suspended numbers, by task."""
    losses: list[RoleLostError] = field(default_factory=list)
    """The errors of lost roles, without duplicates."""
    _losses_of: dict[tuple[str, str], list[RoleLostError]] = field(default_factory=dict)
    """The errors by task and number."""

    def add(
        self,
        task: str,
        bound: BoundMetric,
        lost: RoleLostError,
        *,
        with_it: Collection[str] = (),
    ) -> bool:
        """Suspends a metric and the numbers computed from it.

        Returns True if the loss is new.
        """
        names = {*bound.metric.outputs, *with_it}
        self.outputs.setdefault(task, set()).update(names)
        for name in names:
            own_losses = self._losses_of.setdefault((task, name), [])
            if all(lost.reason != loss.reason for loss in own_losses):
                own_losses.append(lost)
        if any(lost.reason == loss.reason for loss in self.losses):
            return False
        self.losses.append(lost)
        return True

    def covers(self, task: str, bound: BoundMetric) -> bool:
        return not self.outputs.get(task, set()).isdisjoint(bound.metric.outputs)

    def findings(self, results: Iterable[Result], again: str) -> Iterator[Finding]:
        """Yields findings for suspended numbers.

        ``again`` is the command that requests only the missing verdicts.
        """
        for result in results:
            if not result.suspended or result.slice:
                continue
            for loss in self._losses_of.get((result.task, result.metric), ()):
                reason = sentence(loss.reason)
                kind: Kind = "suspended"
                remedy = again
                if isinstance(loss, UnreadableJudgeError):
                    remedy = f"{_without_judge(again)} {ANOTHER_JUDGE}"
                if isinstance(loss, KeyRefusedError):
                    kind = "missing_key"
                elif loss.exit_code == EXIT_MISSING:
                    kind = "missing_weights"
                yield Finding(
                    kind,
                    Subject(result.task, result.metric),
                    result.unscored,
                    result.n,
                    cause=f"scoring stopped: {reason} To continue, {loss.how_to_fix}",
                    remedy=remedy,
                    severity="error",
                )


def _without_judge(command: str) -> str:
    """Returns a command without the role that ``--judge`` would name again."""
    words = shlex.split(command)
    for at, word in enumerate(words):
        if word == "--role" and words[at + 1].startswith("judge="):
            return shlex.join((*words[:at], *words[at + 2 :]))
    return command


def score_command(
    folder: Path,
    tasks: Iterable[Task],
    roles: Mapping[str, BackendSpec],
    recorded: Collection[str] = (),
) -> str:
    """Returns the command ``mmeval score`` with a run's judges, and hides secrets.

    Roles in ``recorded`` are stored in the folder and left out of the command. A role
    with a secret is included, since secrets are not stored.
    """
    tasks = list(tasks)
    words = ["mmeval", "score", str(folder)]
    for role in scoring_roles(tasks, roles):
        spec = roles[role]
        has_secret = any(hidden_names(without_secrets(spec.args)))
        if role not in recorded or has_secret:
            words += ["--role", role_words(role, spec)]
    bounds = [metric.bound for task in tasks for metric in task.metrics]
    if any(bound.params.get(TRUST) is True for bound in bounds):
        words.append(f"--{TRUST}")
    return shlex.join(words)


def scoring_roles(
    tasks: Iterable[Task], roles: Mapping[str, BackendSpec]
) -> Iterator[str]:
    """Yields the roles that metrics call, and those that agents among them call."""
    bounds = [metric.bound for task in tasks for metric in task.metrics]
    judges = [role for bound in bounds for role in bound.called_roles(roles)]
    called = with_called_roles(judges, lambda role: roles_of(roles, role))
    return (role for role in roles if role in called)


def role_words(role: str, spec: BackendSpec) -> str:
    """Returns a role as a value of ``--role``, with secrets hidden."""
    return ",".join((f"{role}={spec.name}", *spelt_args(spec.args)))


def spelt_args(args: Mapping[str, Any]) -> Iterator[str]:
    """Yields the arguments of a backend for a command line, with secrets hidden."""
    for name, value in without_secrets(args).items():
        if not isinstance(value, str):
            text = json.dumps(value)
        elif _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            text = value
        else:
            quote = '"' if "'" in value else "'"
            text = f"{quote}{value}{quote}"
        yield f"{name}={text}"
