"""Keeps corrected and bridged numbers in the folders of their runs.

Only numbers of one task are kept: a mean over several tasks is no number of any task.
A refused correction removes an earlier one of the same name, whose ratings or answers
have changed since.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.records.score import Result
from mmeval.results.corrected import Correction, drop_corrected, keep_corrected
from mmeval.results.stored_run import StoredRun
from mmeval.trust.bridge import NOT_RANDOM, OLD_MISSING, Bridge, BridgedRun
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
        corrections = []
        rows_of_tasks = list(_of_tasks(of_run, calibration, run))
        for task, row in rows_of_tasks:
            if row.corrected is None:
                continue
            label = f"{metric} corrected ({name})"
            result = _result(
                run,
                task,
                metric,
                label,
                row.corrected,
                trials=row.trials,
                rests_on=row.ratings,
            )
            corrections.append(Correction(result, metric))
        sets = dict(run.ours.get("score_sets", {}))
        if rows_of_tasks:
            _keep(run, f"{name}-{metric}", corrections, sets)


def keep_bridge(
    bridge: Bridge, judges: Sequence[RunJudges], old: str, new: str
) -> None:
    """Writes bridged numbers into the folders of their runs."""
    of_runs = {of_run.run: of_run for of_run in bridge.runs}
    for of_run in judges:
        bridged = of_runs.get(of_run.name)
        tasks = [task.name for task in of_run.tasks]
        name = f"{old}-to-{new}-{of_run.number}"
        if bridge.refused not in ("", NOT_RANDOM) or _lacks_old(bridged):
            _keep(of_run.run, name, [], {})
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
        _keep(of_run.run, name, [Correction(result, of_run.number)], sets)


def _lacks_old(bridged: BridgedRun | None) -> bool:
    return bridged is not None and bridged.why == OLD_MISSING


def _of_tasks(
    rows: Sequence[CalibrationResult], calibration: Calibration, run: StoredRun
) -> Iterator[tuple[str, CalibrationResult]]:
    """Yields the results of single tasks, each with its task."""
    tasks = []
    for task in run.tasks:
        if calibration.options.metric in numbers_of(run, task.name):
            tasks.append(task.name)
    for row in rows:
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
    run: StoredRun,
    name: str,
    corrections: Sequence[Correction],
    sets: Mapping[str, str],
) -> None:
    """Writes corrections into the folder of a run. Without any, earlier ones of this
    name are removed."""
    try:
        if corrections:
            keep_corrected(run.folder, name, corrections, sets, run.results)
        else:
            drop_corrected(run.folder, name)
    except (StorageError, OSError) as error:
        log.warning("the result is not kept in %s: %s", run.folder, error)
