"""Score a run with other metrics, switches or judges, or score its unscored trials.

    mmeval score runs/my-model/default
    mmeval score runs/my-model/default --judge openai,model=NAME
    mmeval score runs/my-model/default --metrics includes,wer
    mmeval score runs/my-model/default --judge openai,model=NEXT \\
        --sample 60 --judge_archive

RUN is the folder of a run, <output_path>/<model>/<run_id>. Trials with scores by the
same definition of the metrics are not scored again. Another definition makes a new
score set next to the old one. Without --judge, the judge of the run is used. The exit
codes are those of a run.

Before a judge ends, let the next one judge a sample too, with --judge_archive: the
numbers of the run stay as they are, and mmeval bridge carries them over.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.cli.parser import add_flags
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values as flag_values
from mmeval.settings.flags import BY_NAME, SCORE_FLAGS
from mmeval.settings.resolve import Setting, config_file, exclude_each_other, resolve

if TYPE_CHECKING:
    from mmeval.findings.finding import Finding
    from mmeval.run.options import RescoreOptions, RunOutcome
    from mmeval.settings.report_options import ReportContext

_NAMES = (
    "metric_args",
    "skip_metric",
    "profile",
    "refusals",
    "trust_remote_code",
    "prompts",
    "judge_prompts",
    "role",
    "judge",
    "judge_args",
    "judge_base_url",
    "captioner",
    "probe",
    "judge_patience",
    "max_unscored",
    "bootstrap_iters",
    "strict",
    "score_workers",
    "engine",
    "metric_device",
    "max_connections",
    "retry_on_error",
    "budget_usd",
    "budget_tokens",
    "budget_calls",
    "max_calls_per_answer",
    "max_tokens_per_answer",
    "model_cost_config",
    "log_samples",
    "report",
    "baseline",
    "table",
    "metadata",
    "wandb_args",
    "trackio_args",
    "logger",
    "config",
    "verbosity",
)
FLAGS = (*SCORE_FLAGS, *(BY_NAME[name] for name in _NAMES))
"""The flags of ``score``, and the flags of ``run`` that have an effect here."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    add_flags(parser, FLAGS)


def run(args: argparse.Namespace) -> int:
    """Scores unscored trials, prints the tables, and returns the exit code."""
    from mmeval.settings.report_options import refuse_taken

    settings = resolve(
        FLAGS, vars(args), os.environ, config_file(vars(args), os.environ)
    )
    begin_log(settings["verbosity"].value, os.environ)
    exclude_each_other(settings, "metrics", "skip_metric")
    refuse_taken(settings["metadata"].value, settings["metadata"].origin)

    # imported after the flags are read, because these imports are slow
    from mmeval.report.baseline import recorded_baseline
    from mmeval.report.progress_bar import for_stderr
    from mmeval.report.publish import Publication
    from mmeval.results.stored_run import run_folder
    from mmeval.run.rescore.rescorer import rescore
    from mmeval.settings.plan import chosen_loggers
    from mmeval.store.run_folder import RunFolder

    folder = run_folder(args.folder)
    record = RunFolder.read_record(folder)
    of_run = record.get("settings", {})
    baseline = settings["baseline"].value
    publication = Publication.prepared(
        chosen_loggers(settings),
        baseline,
        log_samples=settings["log_samples"].value,
        page=settings["report"].value,
        table=settings["table"].value,
        recorded=recorded_baseline(of_run, folder) if baseline is None else None,
    )
    with closing(for_stderr()) as bar:
        outcome = rescore(rescore_options(folder, of_run, settings), progress=bar)
    if settings["judge_archive"].value:
        log_outcome(outcome)
        print_text(_archived_text(outcome))
        return outcome.exit_code
    publication.finish(outcome, _context(record, settings), show=print_text)
    return outcome.exit_code


def rescore_options(
    folder: Path, of_run: Mapping[str, Any], settings: Mapping[str, Setting]
) -> RescoreOptions:
    """Returns the options of scoring a run. ``of_run`` are its recorded settings."""
    from mmeval.run.options import RescoreOptions
    from mmeval.settings.role_flags import (
        agent_prompt_names,
        recorded_roles,
        role_specs,
    )
    from mmeval.store.answer_draw import AnswerDraw
    from mmeval.task.task import TaskOverrides

    values = {name: setting.value for name, setting in settings.items()}
    sample = values["sample"]
    roles = role_specs(settings)
    return RescoreOptions(
        folder=folder,
        metrics=values["metrics"],
        overrides=TaskOverrides(
            metric_args=values["metric_args"],
            skip_metric=values["skip_metric"],
            profile=values["profile"],
            refusals=values["refusals"],
            prompts=values["prompts"],
            agent_prompts=agent_prompt_names(roles.values()),
            judge_prompts=values["judge_prompts"],
            trust_remote_code=values["trust_remote_code"],
        ),
        roles=roles,
        roles_of_run=recorded_roles(of_run),
        draw=None if sample is None else AnswerDraw(sample),
        score_workers=values["score_workers"],
        engine=values["engine"],
        metric_device=values["metric_device"],
        max_connections=values["max_connections"],
        retry_on_error=values["retry_on_error"],
        budget_usd=values["budget_usd"],
        budget_tokens=values["budget_tokens"],
        budget_calls=values["budget_calls"],
        max_calls_per_answer=values["max_calls_per_answer"],
        max_tokens_per_answer=values["max_tokens_per_answer"],
        model_cost_config=values["model_cost_config"],
        probe=values["probe"],
        judge_patience=values["judge_patience"],
        strict=values["strict"],
        max_unscored=values["max_unscored"],
        bootstrap_iters=values["bootstrap_iters"],
    )


def judge_name(settings: Mapping[str, Setting]) -> str:
    """Returns the name of the model in the role of the judge, or of its backend."""
    backend, backend_args = settings["judge"].value
    arguments = {**backend_args, **settings["judge_args"].value}
    return str(arguments.get("model", backend))


def log_outcome(outcome: RunOutcome) -> None:
    """Logs the findings of a scoring whose numbers are not published."""
    from mmeval.findings.render import RemedyTarget
    from mmeval.run.availability import log_findings

    place = RemedyTarget(run=shlex.quote(str(outcome.folder)))
    findings = []
    for finding in outcome.findings:
        if finding.kind != "subset":
            findings.append(_archiving(finding))
    log_findings("of this run:", findings, place, width=columns())


def _archiving(finding: Finding) -> Finding:
    """Returns a finding whose command leaves the numbers of the run as they are."""
    if finding.remedy.startswith("mmeval score "):
        return replace(finding, remedy=f"{finding.remedy} --judge_archive")
    return finding


def _archived_text(outcome: RunOutcome) -> str:
    """Returns how many verdicts are kept, by task and metric."""
    lines = []
    for result in outcome.results:
        if not result.slice:
            name = f"{result.task} {result.metric}"
            lines.append(f"{name}: {result.scored:,} of {result.n:,} answers scored")
    lines.append("kept next to the scores of the run, whose numbers are unchanged")
    return "".join(f"{line}\n" for line in lines)


def _context(
    record: Mapping[str, Any], settings: Mapping[str, Setting]
) -> ReportContext:
    """Returns the settings that the run recorded, overridden by this command."""
    from mmeval.settings.plan import as_config
    from mmeval.settings.report_options import ReportContext
    from mmeval.settings.role_flags import with_roles

    changed = as_config(
        {name: setting for name, setting in settings.items() if setting.origin}
    )
    recorded: dict[str, Any] = record.get("settings", {})
    shown = with_roles(recorded, changed)
    metadata = {**recorded.get("metadata", {})}
    metadata.update(changed.get("metadata", {}))
    return ReportContext(
        model=record["options"]["model"],
        model_args=shown.get("model_args", {}),
        gen_kwargs=shown.get("gen_kwargs", {}),
        limit=record["options"]["limit"],
        batch_size=flag_values.batch_size(shown.get("batch_size", "auto")),
        seed=record["identity"]["seed"],
        bootstrap_iters=settings["bootstrap_iters"].value,
        use_cache=shown.get("use_cache", ""),
        system_instruction=shown.get("system_instruction", ""),
        profile=shown.get("profile", ""),
        metadata=metadata,
        settings=shown,
    )
