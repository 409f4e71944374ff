"""Writes the last lines of a run on stdout: its files, and the commands to use next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval.run.availability import task_words, unavailable_findings
from mmeval.run.options import RunOutcome
from mmeval.run.suspension import (
    role_words,
    score_command,
    scoring_roles,
    spelt_args,
)
from mmeval.settings.report_options import ReportContext
from mmeval.system.secrets import hidden_names, without_secrets

_LABEL = 9
"""The width of the labels."""
_REPEATED_FLAGS = (
    "data",
    "data_dir",
    "limit",
    "offset",
    "samples",
    "sample_shuffle",
    "stratify",
    "repeats",
    "seed",
    "protocol",
    "gen_kwargs",
    "system_instruction",
    "profile",
    "refusals",
    "metric_args",
    "skip_metric",
    "prompts",
    "judge_prompts",
)
"""The flags that another run must repeat to use the same samples, prompts and scoring.
"""


def last_lines(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    results: Path,
    page: Path | None,
    width: int,
) -> str:
    """Returns the paths of a run's page and results file, and the commands to use
    next."""
    folder = shlex.quote(str(outcome.folder))
    selection = outcome.selection
    words = shlex.split(task_words(context.settings, selection))
    tasks = [shlex.quote(word) for word in words]
    layout_names = [group.layout for group in selection.groups]
    layout_names += [task.layout for task in selection.tasks]
    layouts = ",".join(dict.fromkeys(filter(None, layout_names)))
    has_number = any(result.value is not None for result in outcome.results)

    lines: list[tuple[str, list[str]]] = []
    if page is not None:
        lines.append(("page", [str(page)]))
    lines.append(("results", [str(results)]))
    if has_number and layouts:
        lines.append(("tables", [f"mmeval report {folder}", f"--layout {layouts}"]))
    if has_number:
        lines.append(("more", [f"mmeval report {folder}", "--format markdown"]))
    # metrics that the user has skipped are not missing
    if any(finding.kind != "partial" for finding in unavailable_findings(selection)):
        lines.append(("missing", ["mmeval check", *tasks]))
    if context.settings.get("data") == "bundled":
        lines.append(("data", ["mmeval prepare", *tasks]))
    roles = _missing_roles(outcome)
    if roles:
        # with those of the run's own roles that its folder does not record
        recorded = outcome.roles if context.settings else ()
        score = score_command(outcome.folder, selection, outcome.roles, recorded)
        verb, subverb, *own_words = map(shlex.quote, shlex.split(score))
        lines.append(("next", [f"{verb} {subverb}", *own_words, *roles]))
    elif has_number:
        lines.append(("next", ["mmeval --tasks", *tasks, *_again(outcome, context)]))
    laid = [_laid(label, parts, width) for label, parts in lines]
    return "\n" + "".join(f"{line}\n" for line in laid)


def _missing_roles(outcome: RunOutcome) -> list[str]:
    """Returns the flags of the roles without which metrics could not score answers.

    The list is empty if there is no answer to score, or if scoring was not wanted.
    """
    counts = outcome.counts
    if not outcome.results or counts.kept + counts.new == 0:
        return []
    flags: dict[str, None] = {}
    for finding in unavailable_findings(outcome.selection):
        if finding.kind == "missing_role":
            flags[finding.remedy] = None
    return list(flags)


def _again(outcome: RunOutcome, context: ReportContext) -> Iterator[str]:
    """Yields the flags for another model with the same samples, prompts and scoring."""
    for flag in _REPEATED_FLAGS:
        value = context.settings.get(flag)
        if not value:
            continue
        if isinstance(value, list):
            value = ",".join(map(str, value))
        elif isinstance(value, dict):
            value = json.dumps(value)
        yield f"--{flag} {shlex.quote(str(value))}"
    for role in scoring_roles(outcome.selection.tasks, outcome.roles):
        yield f"--role {shlex.quote(role_words(role, outcome.roles[role]))}"
    yield f"--baseline {shlex.quote(str(outcome.folder))}"
    yield from _another_model(context)


def _another_model(context: ReportContext) -> Iterator[str]:
    """Yields the flags of another model, whose name the user writes for ``NAME``.

    A model behind a server is asked at the same address. A secret is left out, since
    it is read from the environment.
    """
    args = dict(context.model_args)
    for name in hidden_names(without_secrets(args)):
        args.pop(name, None)
    if "model" in args:
        args["model"] = "NAME"
        yield f"--model {shlex.quote(context.model)}"
    elif "pretrained" in args:
        args = {"pretrained": "NAME"}
        yield f"--model {shlex.quote(context.model)}"
    else:
        args = {"model": "NAME"}
        yield "--model openai"
    yield f"--model_args {shlex.quote(','.join(spelt_args(args)))}"


def _laid(
    label: str,
    words: Sequence[str],
    width: int,
) -> str:
    """Formats a label with a path, which is never broken, or with a command that
    continues on the next line after a backslash."""
    lines = [f"{label:{_LABEL}}{words[0]}"]
    if len(lines[0]) > width and not words[1:]:
        return f"{label}\n  {words[0]}"
    for word in words[1:]:
        # a space before it, and a space and a backslash after it
        if len(lines[-1]) + len(word) <= width - 3:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{'':{_LABEL}}{word}")
    return " \\\n".join(lines)
