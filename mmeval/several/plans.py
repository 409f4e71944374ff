"""Plans the runs of a configuration file's models, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmeval.backend.create import check_backend_name
from mmeval.errors import UnknownNameError, UsageError
from mmeval.run.backends import ROLE_LIMIT
from mmeval.run.options import BackendSpec
from mmeval.run.preparation import DEFAULT_RUN_ID, run_path
from mmeval.settings.flags import FLAGS
from mmeval.settings.models import (
    KEYS,
    ConfiguredModels,
    ModelEntry,
    chosen_entries,
)
from mmeval.settings.plan import RunPlan, make_plan, secrets_of
from mmeval.settings.resolve import Setting, resolve
from mmeval.system.secrets import text_without_secrets
from mmeval.system.wording import file_name

_OF_ENTRIES = ("model", "model_args", "model_tag", "device")
"""Flags that belong to the entries."""
_UNSUPPORTED: Mapping[str, str] = {
    "shard": "run each model with a command of its own",
    "baseline": "'mmeval compare' compares the runs",
}
"""Flags without a meaning for several models, with what to do instead."""


@dataclass(frozen=True)
class ModelPlan:
    """The plan of one model's run, with its entry."""

    entry: ModelEntry
    run: RunPlan

    @property
    def folder(self) -> Path:
        return run_path(self.run.options)


@dataclass(frozen=True)
class CommandPlan:
    """The plans of a command: of all models of the file, and of those that it runs.

    ``jobs`` is the number of models that run side by side. ``board`` is the board file
    that the command writes.
    """

    models: tuple[ModelPlan, ...]
    chosen: tuple[ModelPlan, ...]
    jobs: int
    board: Path


def plan_models(
    models: ConfiguredModels,
    shared: Mapping[str, Setting],
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    command: str,
) -> CommandPlan:
    """Plans the runs of all models, so that a wrong entry is reported at the start.

    ``shared`` are the settings without those of the entries. Raises UsageError for
    conflicting settings, an unknown backend or an unknown name of ``--only``.
    """
    _check_shared(models, shared)
    chosen = chosen_entries(models, shared["only"].value)
    jobs = min(shared["jobs"].value, len(chosen))
    plans: dict[str, ModelPlan] = {}
    for entry in models.entries:
        settings = settings_of(models, entry, command_line, environ)
        hidden = text_without_secrets(command, secrets_of(settings))
        plan = make_plan(settings, command=hidden)
        _check_backend(entry)
        limit = shared["max_connections"].value
        roles = _with_shared_limit(plan.options.roles, limit, jobs)
        plan = replace(plan, options=replace(plan.options, roles=roles))
        plans[entry.name] = ModelPlan(entry, plan)
    run_id = file_name(shared["run_id"].value or DEFAULT_RUN_ID)
    return CommandPlan(
        models=tuple(plans.values()),
        chosen=tuple(plans[entry.name] for entry in chosen),
        jobs=jobs,
        board=shared["output_path"].value / f"{run_id}.board.yaml",
    )


def settings_of(
    models: ConfiguredModels,
    entry: ModelEntry,
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
) -> dict[str, Setting]:
    """Returns the settings of one model."""
    of_model = {
        **models.defaults,
        **entry.settings,
        "model_tag": Setting(entry.name, f"{models.file}: name"),
    }
    return resolve(
        FLAGS,
        command_line,
        environ,
        models.file,
        other_keys=KEYS,
        of_model=of_model,
    )


def _check_backend(entry: ModelEntry) -> None:
    """Raises UsageError with file and line for an unknown backend."""
    backend = entry.settings["model"]
    try:
        check_backend_name(backend.value)
    except UnknownNameError as error:
        raise UsageError(f"{backend.origin}: {error}", name=error.name) from None


def _check_shared(models: ConfiguredModels, shared: Mapping[str, Setting]) -> None:
    for name in _OF_ENTRIES:
        origin = shared[name].origin
        if origin:
            raise UsageError(
                f"{origin} and 'models' of {models.file} exclude each other; leave one "
                "out",
                name=origin,
            )
    for name, advice in _UNSUPPORTED.items():
        origin = shared[name].origin
        if origin:
            raise UsageError(
                f"{origin} cannot be used with 'models'; {advice}", name=origin
            )
    if shared["output_path"].value.suffix == ".json":
        origin = shared["output_path"].origin
        raise UsageError(
            f"{origin} must be a folder, because each model has its own results file",
            name=origin,
        )


def _with_shared_limit(
    roles: Mapping[str, BackendSpec], limit: int, jobs: int
) -> dict[str, BackendSpec]:
    """Divides the connections of each role among the models that run side by side.

    Together they then send no more requests at a time than one model alone, unless a
    role has fewer connections than there are models: each has at least one.
    """
    if jobs == 1:
        return dict(roles)
    specs: dict[str, BackendSpec] = {}
    for role, spec in roles.items():
        whole = spec.args.get(ROLE_LIMIT, limit)
        is_number = isinstance(whole, int) and whole > 0
        args = dict(spec.args)
        if is_number:  # else the run reports it
            args[ROLE_LIMIT] = max(1, whole // jobs)
        specs[role] = replace(spec, args=args)
    return specs
