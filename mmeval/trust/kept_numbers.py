"""Keeps corrected and bridged numbers in the folders of their runs.

Only numbers of one task are kept: a mean over several tasks is no number of any task.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.records.score import Result
from mmeval.results.corrected import keep_corrected
from mmeval.results.stored_run import StoredRun
from mmeval.trust.bridge import Bridge
from mmeval.trust.calibrate import Calibration, CalibrationResult
from mmeval.trust.correction.estimate import Estimate
from mmeval.trust.kept_verdicts import RunJudges
from mmeval.trust.run_scores import numbers_of

log = logging.getLogger(__name__)

_TASK = "task"


def keep_calibration(
    calibration: Calibration, runs: Mapping[str, StoredRun], ratings: Path
) -> None:
    """Writes corrected numbers into the folders of runs, which are given by name.

    Numbers are named after the file of ratings.
    """
    is_usual_name = ratings.name == "ratings.jsonl"
    name = ratings.resolve().parent.name if is_usual_name else ratings.stem
    metric = calibration.options.metric
    for run_name, run in runs.items():
        of_run = [row for row in calibration.results if row.run == run_name]
        results = []
        for task, row in _of_tasks(of_run, calibration, run):
            assert row.corrected is not None
            label = f"{metric} corrected ({name})"
            results.append(
                _result(
                    run,
                    task,
                    metric,
                    label,
                    row.corrected,
                    trials=row.trials,
                    rests_on=row.ratings,
                )
            )
        sets = dict(run.ours.get("score_sets", {}))
        _keep(run, f"{name}-{metric}", results, sets)


def keep_bridge(
    bridge: Bridge, judges: Sequence[RunJudges], old: str, new: str
) -> None:
    """Writes bridged numbers into the folders of their runs."""
    of_runs = {of_run.run: of_run for of_run in bridge.runs}
    for of_run in judges:
        bridged = of_runs.get(of_run.name)
        tasks = [task.name for task in of_run.tasks]
        if bridged is None or bridged.new is None or len(tasks) != 1:
            continue
        result = _result(
            of_run.run,
            tasks[0],
            of_run.number,
            f"{of_run.number} as {new}",
            bridged.new,
            trials=bridged.trials,
            rests_on=bridged.asked,
        )
        sets = {task: path.name for task, path in of_run.score_sets(old).items()}
        _keep(of_run.run, f"{old}-to-{new}-{of_run.number}", [result], sets)


def _of_tasks(
    rows: Sequence[CalibrationResult], calibration: Calibration, run: StoredRun
) -> Iterator[tuple[str, CalibrationResult]]:
    """Yields the corrected numbers of single tasks, each with its task."""
    tasks = []
    for task in run.tasks:
        if calibration.options.metric in numbers_of(run, task.name):
            tasks.append(task.name)
    for row in rows:
        if row.corrected is None:
            continue
        if not row.slice and len(tasks) == 1:
            yield tasks[0], row
        elif calibration.options.by == _TASK and row.slice in tasks and len(tasks) > 1:
            yield row.slice, row


def _result(
    run: StoredRun,
    task: str,
    metric: str,
    label: str,
    estimate: Estimate,
    *,
    trials: int,
    rests_on: int,
) -> Result:
    direction = run.results.get("higher_is_better", {}).get(task, {}).get(metric, True)
    return Result(
        task=task,
        metric=label,
        value=estimate.value,
        n=trials,
        scored=rests_on,
        stderr=estimate.stderr,
        ci95=estimate.ci95,
        higher_is_better=bool(direction),
    )


def _keep(
    run: StoredRun, name: str, results: Sequence[Result], sets: Mapping[str, str]
) -> None:
    if not results:
        return
    try:
        keep_corrected(run.folder, name, results, sets)
    except (StorageError, OSError) as error:
        log.warning("the result is not kept in %s: %s", run.folder, error)
