"""Makes the plan of a run from its settings: options, task overrides, report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval.backend.batch_size import BatchSize
from mmeval.broker.cluster.engine import RayEngine
from mmeval.errors import UsageError
from mmeval.run.options import RunOptions
from mmeval.settings.report_options import ReportContext, refuse_taken
from mmeval.settings.resolve import Setting, exclude_each_other
from mmeval.settings.role_flags import agent_prompt_names, model_spec, role_specs
from mmeval.store.shard import Shard
from mmeval.system.secrets import secret_values, without_secrets
from mmeval.task.task import TaskOverrides


@dataclass(frozen=True)
class RunPlan:
    """The typed settings of a run."""

    options: RunOptions
    overrides: TaskOverrides
    tasks: tuple[str, ...]
    include_path: tuple[Path, ...]
    report: ReportContext
    log_samples: bool
    write_out: bool
    dry_run: bool
    format: str
    """The output format of a dry run: text or json."""
    loggers: Mapping[str, Mapping[str, Any]]
    """The loggers by name, with their arguments."""
    baseline: Path | None = None
    """Another run, whose results are shown in a column; None without one."""
    page: bool = True
    """True if the report page is written at the end."""
    table: str = "short"
    """The form of the printed table: short, full or none."""


def make_plan(settings: Mapping[str, Setting], *, command: str = "") -> RunPlan:
    """Makes the plan of a run.

    Raises UsageError for conflicting settings or a missing model.
    """
    if not settings["model"].value:
        backends = ", ".join(plugins.names("mmeval.model_backends"))
        raise UsageError(f"--model is missing; the backends are: {backends}")
    exclude_each_other(settings, "samples", "limit")
    exclude_each_other(settings, "samples", "offset")
    exclude_each_other(settings, "data", "data_dir")
    if settings["format"].value and not settings["dry_run"].value:
        raise UsageError(
            f"{settings['format'].origin} has no effect without --dry_run. Leave it "
            "out; the results file is always JSON",
            name=settings["format"].origin,
        )
    refuse_taken(settings["metadata"].value, settings["metadata"].origin)
    values = {name: setting.value for name, setting in settings.items()}
    config = as_config(settings)
    output_path: Path = values["output_path"]
    into_file = output_path.suffix == ".json"
    option_values = _fields_of("options", values) | {
        "model": model_spec(settings),
        "roles": role_specs(settings),
    }
    if into_file:
        option_values["output_path"] = output_path.parent
    overrides = TaskOverrides(
        **_fields_of("overrides", values),
        agent_prompts=agent_prompt_names(
            (option_values["model"], *option_values["roles"].values())
        ),
    )
    options = RunOptions(**option_values, command=command, settings=config)
    report = ReportContext(
        model=options.model.name,
        model_args=options.model.args,
        gen_kwargs=values["gen_kwargs"],
        limit=options.limit,
        batch_size=options.batch_size,
        seed=options.seed,
        bootstrap_iters=options.bootstrap_iters,
        use_cache=str(options.use_cache or ""),
        system_instruction=values["system_instruction"],
        profile=values["profile"],
        metadata=values["metadata"],
        stem=output_path.stem if into_file else "results",
        folder=output_path.parent if into_file else None,
        settings=config,
    )
    return RunPlan(
        options=options,
        overrides=overrides,
        tasks=values["tasks"],
        include_path=values["include_path"],
        report=report,
        log_samples=values["log_samples"],
        write_out=values["write_out"],
        dry_run=values["dry_run"],
        format=values["format"] or "text",
        loggers=chosen_loggers(settings),
        baseline=values["baseline"],
        page=values["report"],
        table=values["table"],
    )


def chosen_loggers(
    settings: Mapping[str, Setting],
) -> dict[str, Mapping[str, Any]]:
    """Returns the requested loggers, with their arguments.

    Raises UsageError if a logger is named twice.
    """
    chosen: dict[str, Mapping[str, Any]] = dict(settings["logger"].value)
    for name in ("wandb", "trackio"):
        args = settings[f"{name}_args"]
        if args.value and name in chosen:
            raise UsageError(
                f"{settings['logger'].origin} {name} and {args.origin} exclude each "
                "other; leave one out"
            )
        if args.value:
            chosen[name] = args.value
    return chosen


def _fields_of(target: str, values: Mapping[str, Any]) -> dict[str, Any]:
    from mmeval.settings.flags import FLAGS

    fields: dict[str, Any] = {}
    for flag in FLAGS:
        place, _, name = flag.to.partition(".")
        if place == target and flag.name in values:
            fields[name] = values[flag.name]
    return fields


def secrets_of(settings: Mapping[str, Setting]) -> frozenset[str]:
    """Returns the secret values of the settings, which must not appear anywhere."""
    return secret_values(_as_json(settings))


def as_config(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Returns the settings as JSON for a file, without secrets and ``--config``."""
    non_empty: dict[str, Any] = {}
    for name, value in _as_json(settings).items():
        if value not in (None, "", [], {}):
            non_empty[name] = value
    return without_secrets(non_empty)


_OF_COMMAND = ("config", "show_config", "only", "jobs")
"""Flags of the command that do not change a run."""


def _as_json(settings: Mapping[str, Setting]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, setting in settings.items():
        value = setting.value
        if name in _OF_COMMAND:
            continue
        if name in ("judge", "captioner") and value is not None:
            plain[name] = _plain_role(value)
        elif name == "role":
            plain[name] = {role: _plain_role(spec) for role, spec in value.items()}
        elif name == "reasoning_tags" and value is None:
            plain[name] = "none"
        else:
            plain[name] = _plain(value)
    return plain


def _plain_role(
    spec: tuple[str, Mapping[str, Any]],
) -> dict[str, Any]:
    backend, args = spec
    return {"backend": backend, **args}


def _plain(value: Any) -> Any:
    if isinstance(value, BatchSize):
        return value.rows or str(value)
    if isinstance(value, Path | Shard | RayEngine):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
