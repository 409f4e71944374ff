"""Who is asked when a run is scored again: the roles that are given, and else those that the run was made with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.backend.contract import ProgramBackend
from mmeval.errors import MissingError, UsageError, sentence
from mmeval.run.backends import Backends
from mmeval.run.options import BackendSpec
from mmeval.run.suspension import score_command
from mmeval.secrets import HIDDEN, hidden_names
from mmeval.task.task import Selection

if TYPE_CHECKING:
    from mmeval.run.options import RescoreOptions


def role_backends(selection: Selection, options: RescoreOptions) -> Backends:
    """The backends that the metrics ask. An agent may ask any role, so where one judges the run's others come along.

    Raises MissingError or UsageError with the whole command, where one of the run cannot be made again.
    """
    present = {*options.roles_of_run, *options.roles}
    asked = {role for task in selection for metric in task.metrics for role in metric.bound.whom(present)}
    backends = _made(selection, options, asked)
    if any(isinstance(backend, ProgramBackend) for backend in backends.named.values()):
        return _made(selection, options, options.roles_of_run.keys())
    return backends


def _made(selection: Selection, options: RescoreOptions, wanted: Collection[str]) -> Backends:
    own = {role: spec for role, spec in options.roles_of_run.items() if role in wanted and role not in options.roles}
    specs = {**own, **options.roles}
    command = _command(options, selection, specs)
    for role, spec in own.items():
        for name in hidden_names(spec.args):
            raise MissingError(
                f"{name} of the {role} that this run was made with is a secret, which is not kept; write it for "
                f"{HIDDEN}, or name another {role}: {command}"
            )
    try:
        return Backends(specs)
    except (MissingError, UsageError) as error:
        if not own:
            raise
        kind = MissingError if isinstance(error, MissingError) else UsageError
        roles = ", ".join(own)
        raise kind(
            f"{sentence(error)} This run was made with this {roles}; once that is mended, or with another: {command}"
        ) from None


def _command(options: RescoreOptions, selection: Selection, specs: Mapping[str, BackendSpec]) -> str:
    words = [score_command(Path(options.folder), selection.tasks, specs, specs)]
    if options.metrics:
        words.append(f"--metrics {','.join(options.metrics)}")
    if options.overrides.profile:
        words.append(f"--profile {options.overrides.profile}")
    return " ".join(words)
