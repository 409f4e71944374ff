"""Run a model on the samples of tasks and score its answers.

    mmeval run --tasks unim_hard --data bundled --model reference
    mmeval run --tasks unim_hard --model openai \\
        --model_args base_url=http://localhost:8000/v1,model=NAME
    mmeval run --config paper.yaml --dry_run
    mmeval run --config models.yaml --jobs 2

The word run can be left out. Each flag can also be given as MMEVAL_<FLAG> in the
environment or as a key of a --config file. A flag overrides the file, and the file
overrides the environment. If the file lists models, each has its own run folder; the
exit code is 3 if one of them is not complete.

exit codes: 0 everything available was scored; 1 unexpected error; 2 usage or invalid
task; 3 failed or unscored above --max_unscored, a lost server, or a spent budget; 4 a
key, extra or data is missing; 130 interrupted, state saved.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from mmeval._version import __version__
from mmeval.cli.parser import add_flags, add_refused
from mmeval.errors import EXIT_USAGE, UsageError
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text, write_line
from mmeval.settings.flags import FLAGS
from mmeval.settings.models import KEYS, ConfiguredModels, read_models
from mmeval.settings.resolve import Setting, config_file, resolve
from mmeval.system.secrets import text_without_secrets

LISTS = {
    "list": ("groups", "tags", "tasks"),
    "list_groups": ("groups",),
    "list_subtasks": ("tasks",),
    "list_tags": ("tags",),
}
"""Values of ``--tasks`` that print a list, as in lm-evaluation-harness."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, FLAGS)
    add_refused(parser)


def run(args: argparse.Namespace) -> int:
    """Runs with the settings from flags, the configuration file and the environment.

    Prints the tables, and returns the exit code.
    """
    models = read_models(config_file(vars(args), os.environ))
    settings = read_settings(vars(args), os.environ, models)
    begin_log(settings["verbosity"].value, os.environ)
    if settings["show_config"].value:
        print_text(show_config(settings) + show_models(models))
        return 0
    listed = [name for name in settings["tasks"].value if name in LISTS]
    if listed:
        from mmeval.cli import ls

        return ls.print_tasks(LISTS[listed[0]], settings["include_path"].value)
    if not settings["tasks"].value and not args.argv:
        from mmeval.cli.verbs import overview

        write_line(overview().rstrip())
        return EXIT_USAGE
    from mmeval.settings.plan import secrets_of

    if not settings["tasks"].value:
        raise UsageError("--tasks is missing; mmeval ls tasks '*' lists all tasks")
    command = shlex.join(("mmeval", *args.argv))
    if models is not None:
        from mmeval.several.command import run_command

        return run_command(models, settings, vars(args), os.environ, command=command)
    _refuse_without_models(settings)
    return _run(settings, text_without_secrets(command, secrets_of(settings)))


def read_settings(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    models: ConfiguredModels | None = None,
) -> dict[str, Setting]:
    """Returns the value of each flag of ``run``, and where the value comes from.

    If the file lists ``models``, these are the settings that all of them share.
    """
    file = config_file(flags, environ)
    if models is None:
        return resolve(FLAGS, flags, environ, file)
    return resolve(
        FLAGS, flags, environ, file, other_keys=KEYS, of_model=models.defaults
    )


def _refuse_without_models(settings: Mapping[str, Setting]) -> None:
    for name in ("only", "jobs"):
        origin = settings[name].origin
        if origin:
            raise UsageError(
                f"{origin} has no effect without 'models' in the --config file",
                name=origin,
            )


def show_config(settings: Mapping[str, Setting]) -> str:
    """Returns the text of a file for ``--config``. Comments state where each setting
    comes from."""
    import yaml

    from mmeval.settings.plan import as_config

    lines = []
    for name, value in as_config(settings).items():
        origin = settings[name].origin or "default"
        text = yaml.safe_dump(
            {name: value}, allow_unicode=True, sort_keys=False, width=1000
        )
        lines.append(f"# {origin}\n{text}")
    return "".join(lines)


def show_models(models: ConfiguredModels | None) -> str:
    """Returns the models of a file for ``--config``, without secrets."""
    if models is None:
        return ""
    import yaml

    from mmeval.settings.models import MODELS, as_rows

    rows = {MODELS: as_rows(models)}
    text = yaml.safe_dump(rows, allow_unicode=True, sort_keys=False, width=1000)
    return f"# {models.file}\n{text}"


def _run(settings: Mapping[str, Setting], command: str) -> int:
    from mmeval.backend.create import check_backend_name
    from mmeval.report.progress_bar import for_stderr
    from mmeval.report.prompts import write_prompts
    from mmeval.report.publish import Publication, end_of_shard
    from mmeval.run.runner import run as run_tasks
    from mmeval.settings.plan import make_plan
    from mmeval.task.selection import select

    plan = make_plan(settings, command=command)
    check_backend_name(plan.options.model.name)
    shard = plan.options.shard
    publication = None
    if shard is None:
        publication = Publication.prepared(
            plan.loggers,
            plan.baseline,
            log_samples=plan.log_samples,
            page=plan.page,
            table=plan.table,
        )
    selection = select(
        plan.tasks,
        include_path=plan.include_path,
        overrides=plan.overrides,
        roles=frozenset(plan.options.roles),
    )
    if plan.write_out:
        write_prompts(selection, sys.stderr)
    if plan.dry_run:
        from mmeval.forecast.dry_run import forecast
        from mmeval.forecast.short_text import short_forecast_text
        from mmeval.forecast.text import forecast_text

        estimate = forecast(selection, plan.options)
        if plan.format == "json":
            document = {"mmeval": __version__, **estimate.to_json()}
            print_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        elif plan.table == "full" or settings["verbosity"].value == "DEBUG":
            print_text(forecast_text(estimate))
        else:
            print_text(short_forecast_text(estimate, columns()))
        return estimate.exit_code
    with closing(for_stderr()) as bar:
        outcome = run_tasks(
            selection,
            plan.options,
            progress=bar,
            prepare_end=None if publication is None else publication.import_page,
        )
    if publication is None:
        end_of_shard(outcome, str(shard), show=print_text)
    else:
        publication.finish(outcome, plan.report, show=print_text)
    return outcome.exit_code
