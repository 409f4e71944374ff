"""Writes the last lines of a run on stdout: its files, and the commands to use next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from mmeval.run.availability import task_words, unavailable_findings
from mmeval.run.options import RunOutcome
from mmeval.run.suspension import role_words, scoring_roles
from mmeval.settings.report_options import ReportContext

_LABEL = 9
"""The width of the labels."""
_OF_THE_NUMBERS = (
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
    settings = context.settings
    words = shlex.split(task_words(settings, selection))
    tasks = [shlex.quote(word) for word in words]
    layout_names = [group.layout for group in selection.groups]
    layout_names += [task.layout for task in selection.tasks]
    layouts = ",".join(dict.fromkeys(filter(None, layout_names)))
    again = []
    for flag in _OF_THE_NUMBERS:
        value = settings.get(flag)
        if not value:
            continue
        if isinstance(value, list):
            value = ",".join(map(str, value))
        elif isinstance(value, dict):
            value = json.dumps(value)
        again.append(f"--{flag} {shlex.quote(str(value))}")
    for role in scoring_roles(selection.tasks, outcome.roles):
        again.append(f"--role {shlex.quote(role_words(role, outcome.roles[role]))}")

    lines: list[tuple[str, list[str]]] = []
    if page is not None:
        lines.append(("page", [str(page)]))
    lines.append(("results", [str(results)]))
    if layouts:
        lines.append(("tables", [f"mmeval report {folder}", f"--layout {layouts}"]))
    lines.append(("more", [f"mmeval report {folder}", "--format markdown"]))
    # metrics that the user has skipped are not missing
    if any(finding.kind != "partial" for finding in unavailable_findings(selection)):
        lines.append(("missing", ["mmeval check", *tasks]))
    if settings.get("data") == "bundled":
        lines.append(("data", ["mmeval prepare", *tasks]))
    ending = [f"--baseline {folder}", "--model BACKEND"]
    lines.append(("next", ["mmeval --tasks", *tasks, *again, *ending]))
    laid = [_laid(label, parts, width) for label, parts in lines]
    return "\n" + "".join(f"{line}\n" for line in laid)


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
