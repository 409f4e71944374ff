"""What came of a run: results over its score sets, who judged, and the exit code."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK
from mmeval.records.score import Result
from mmeval.results.task_results import TaskNumbers, task_results
from mmeval.run.options import RunCounts, RunOutcome
from mmeval.run.task_run import TaskRun
from mmeval.scoring.scorer import Scorer
from mmeval.scoring.verdict_log import Served, served_versions
from mmeval.store.paths import Wanted
from mmeval.wording import counted


def finished_results(
    runs: Sequence[TaskRun],
    wanted: Sequence[Wanted],
    scorer: Scorer | None,
    *,
    bootstrap_iters: int,
    suspended: Mapping[str, Collection[str]],
) -> list[Result]:
    """Order the score rows, and make each task's numbers over the wanted trials.

    They are made where the scoring happened, so that this process need not import what
    they take; without a ``scorer`` nothing was scored. ``suspended`` names, by task,
    the numbers that the loss of a judge leaves without a value.
    """
    made: list[Callable[[], list[Result]]] = []
    for run, chosen in zip(runs, wanted, strict=True):
        run.records.close()
        if run.scores is not None:
            run.scores.finish()
            numbers = TaskNumbers.of(run.task)
            folder = run.scores.folder
            lost = suspended.get(run.task.name, ())
            made.append(
                partial(
                    task_results,
                    numbers,
                    folder,
                    chosen,
                    lost,
                    bootstrap_iters=bootstrap_iters,
                )
            )
    return [
        result
        for results in (scorer.compute(made) if scorer else ())
        for result in results
    ]


def score_folders(runs: Sequence[TaskRun]) -> dict[str, Path]:
    return {run.task.name: run.scores.folder for run in runs if run.scores is not None}


def judge_versions(runs: Sequence[TaskRun]) -> dict[str, list[Served]]:
    """By task, who judged; tasks without a judged metric are left out."""
    return {
        run.task.name: served_versions(run.scores.folder)
        for run in runs
        if run.judged and run.scores is not None
    }


def worst_unscored(results: Iterable[Result]) -> int:
    """Trials that lack a score by the metric that lacks most, summed over tasks.

    Refused answers that the user leaves out are none of these.
    """
    worst: dict[str, int] = {}
    for result in results:
        if not result.slice:
            lost = result.unscored - result.refused_unscored
            worst[result.task] = max(lost, worst.get(result.task, 0))
    return sum(worst.values())


def exit_code(counts: RunCounts, tolerated: float) -> int:
    """3 when more was lost than is tolerated, or no trial could be asked; else 0.
    ``--max_unscored`` is ``tolerated``: a count, or a share below 1."""
    if counts.none_asked:
        return EXIT_INCOMPLETE
    total = counts.kept + counts.new + counts.failed
    # 0.29 * 100 is 28.999...
    limit = round(tolerated * total, 9) if tolerated < 1 else tolerated
    return (
        EXIT_INCOMPLETE
        if counts.failed + counts.unscored > math.floor(limit)
        else EXIT_OK
    )


def last_line(outcome: RunOutcome) -> str:
    """The last line of a run that does not end with 0, which says why; else empty."""
    if outcome.error:
        return f"error: {outcome.error}"
    if outcome.exit_code != EXIT_INCOMPLETE:
        return ""
    counts = outcome.counts
    lost = [f"{counted(counts.failed, 'trial')} failed"] if counts.failed else []
    lost += [f"{counts.unscored:,} unscored"] if counts.unscored else []
    unfinished = (
        "not all trials are made" if outcome.unfinished else "scoring was suspended"
    )
    why = (
        "no trial could be asked"
        if counts.none_asked
        else ", ".join(lost) or unfinished
    )
    return (
        f"exit code {EXIT_INCOMPLETE}: {why}; the lines above say why, and what to do"
    )
