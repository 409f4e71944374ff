"""Ask a model the samples of tasks and score its answers."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Any

from mmeval.cli.flags import FLAGS
from mmeval.cli.parser import add_flags, add_refused
from mmeval.cli.settings import Setting, config_file, resolve, unknown_variables
from mmeval.cli.streams import print_text
from mmeval.errors import UsageError
from mmeval.report import log

LISTS = {
    "list": ("groups", "tags", "tasks"),
    "list_groups": ("groups",),
    "list_subtasks": ("tasks",),
    "list_tags": ("tags",),
}
"""What ``--tasks`` lists instead of running, as in lm-evaluation-harness."""

_logger = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, FLAGS)
    add_refused(parser)


def run(args: argparse.Namespace) -> int:
    """Run what the flags, the configuration file and the environment ask for, and print the tables."""
    settings = read_settings(vars(args), os.environ)
    log.configure(settings["verbosity"].value)
    for warning in unknown_variables(os.environ):
        _logger.warning(warning)
    if settings["show_config"].value:
        print_text(show_config(settings))
        return 0
    listed = [name for name in settings["tasks"].value if name in LISTS]
    if listed:
        from mmeval.cli import ls

        return ls.print_tasks(LISTS[listed[0]], settings["include_path"].value)
    with _terminated_as_interrupted():
        return _run(settings)


def read_settings(given: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Setting]:
    """Every flag of ``run`` with its value and its origin."""
    return resolve(FLAGS, given, environ, config_file(given, environ))


def show_config(settings: Mapping[str, Setting]) -> str:
    """The resolved settings as a configuration file, each with its origin; ``--config`` reads it back."""
    import yaml

    from mmeval.cli.plan import as_config

    lines = []
    for name, value in as_config(settings).items():
        origin = settings[name].origin or "default"
        text = yaml.safe_dump({name: value}, allow_unicode=True, sort_keys=False, width=1000).rstrip("\n")
        lines.append(f"# {origin}\n{text}")
    return "\n".join(lines) + "\n"


def _run(settings: Mapping[str, Setting]) -> int:
    from mmeval import taskindex
    from mmeval.cli.plan import make_plan
    from mmeval.cli.prompts import write_prompts
    from mmeval.cli.publish import publish
    from mmeval.report import progress
    from mmeval.report.context import text_without_secrets
    from mmeval.run import run as run_tasks

    if not settings["tasks"].value:
        raise UsageError("--tasks is missing; 'mmeval ls tasks' lists them")
    plan = make_plan(settings, command=text_without_secrets(shlex.join(("mmeval", *sys.argv[1:]))))
    moment = datetime.now()
    selection = taskindex.select(
        plan.tasks,
        include_path=plan.include_path,
        overrides=plan.overrides,
        roles=frozenset(plan.options.roles),
    )
    if plan.options.limit is not None:
        _logger.warning("--limit is for testing only: numbers over a part of a task are not to be reported")
    if plan.write_out:
        write_prompts(selection, sys.stderr)
    bar = progress.for_stderr()
    try:
        outcome = run_tasks(selection, plan.options, progress=bar)
    finally:
        bar.close()
    wanted = outcome.chosen if plan.log_samples else None
    print_text(publish(outcome, plan.report, moment=moment, wanted=wanted))
    return outcome.exit_code


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: what was answered is saved, the exit code is 130."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)
