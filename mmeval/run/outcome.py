"""Computes parts of a run's outcome: results, judges, severities and the last line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mmeval.errors import EXIT_OK
from mmeval.findings.finding import Finding, Kind
from mmeval.findings.words import LABELS
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.verdict_log import JudgeVersion, logged_versions
from mmeval.records.score import Result
from mmeval.results.task_results import TaskNumbers, task_results
from mmeval.run.options import RunCounts, RunOutcome
from mmeval.run.task_run import TaskRun
from mmeval.store.paths import TrialFilter

LOST: tuple[Kind, ...] = (
    "bad_sample",
    "failed",
    "refused",
    "unscored",
)
"""The kinds of findings that ``--max_unscored`` tolerates."""


def finished_results(
    runs: Sequence[TaskRun],
    chosen: Mapping[str, TrialFilter],
    scorer: Scorer | None,
    *,
    bootstrap_iters: int,
    suspended: Mapping[str, Collection[str]],
) -> list[Result]:
    """Sorts the score rows, and computes the numbers of each task's ``chosen`` trials.

    The scoring processes compute the numbers, so that this process does not import
    their packages. Without a ``scorer`` there are no numbers. ``suspended`` contains,
    by task, the numbers without a value because a judge was lost.
    """
    calls: list[Callable[[], list[Result]]] = []
    for run in runs:
        run.records.close()
        if run.scores is None:
            continue
        run.scores.finish()
        name = run.task.name
        results_of_task = partial(
            task_results,
            TaskNumbers.of(run.task),
            run.scores.folder,
            chosen[name],
            suspended.get(name, ()),
            bootstrap_iters=bootstrap_iters,
        )
        calls.append(results_of_task)
    results: list[Result] = []
    if scorer is not None:
        for task_numbers in scorer.compute(calls):
            results.extend(task_numbers)
    return results


def score_folders(runs: Sequence[TaskRun]) -> dict[str, Path]:
    folders = {}
    for run in runs:
        if run.scores is not None:
            folders[run.task.name] = run.scores.folder
    return folders


def judge_versions(runs: Sequence[TaskRun]) -> dict[str, list[JudgeVersion]]:
    """Returns the versions of judges, by task.

    Tasks without judged metrics are left out.
    """
    versions = {}
    for run in runs:
        if run.judged and run.scores is not None:
            versions[run.task.name] = logged_versions(run.scores.folder)
    return versions


def worst_unscored(results: Iterable[Result]) -> int:
    """Counts each task's unscored trials by its worst metric, and returns the sum.

    Refused answers that the user excludes are not included.
    """
    worst: dict[str, int] = {}
    for result in results:
        if not result.slice:
            unscored = result.unscored - result.refused_unscored
            worst[result.task] = max(unscored, worst.get(result.task, 0))
    return sum(worst.values())


def is_tolerated(counts: RunCounts, tolerated: float) -> bool:
    """Returns True if at most ``tolerated`` trials have no score.

    Returns False if no trial could be asked. ``tolerated`` is ``--max_unscored``: a
    count, or a share below 1.
    """
    if counts.none_asked:
        return False
    total = counts.kept + counts.new + counts.failed
    # 0.29 * 100 is 28.999...
    limit = round(tolerated * total, 9) if tolerated < 1 else tolerated
    return counts.failed + counts.unscored <= math.floor(limit)


def with_severities(
    findings: Iterable[Finding], counts: RunCounts, *, tolerated: bool
) -> Iterator[Finding]:
    """Yields the findings of a run with their severities.

    Missing scores are warnings if ``tolerated``. Unsupported trials are errors only if
    no trial could be asked.
    """
    for finding in findings:
        if finding.kind == "unsupported" and finding.severity != "note":
            is_error = counts.none_asked
            yield replace(finding, severity="error" if is_error else "warning")
        elif finding.kind in LOST and finding.severity == "error" and tolerated:
            yield replace(finding, severity="warning")
        else:
            yield finding


def last_line(outcome: RunOutcome) -> str:
    """Returns the last line of a run with an exit code above 0: errors by kind."""
    if outcome.exit_code == EXIT_OK:
        return ""
    counts: Counter[Kind] = Counter()
    for finding in outcome.findings:
        if finding.severity == "error":
            counts[finding.kind] += finding.count or 1
    words = [f"{LABELS[kind]} {count:,}" for kind, count in counts.items()]
    return f"exit code {outcome.exit_code}: {', '.join(words)}; see above"
