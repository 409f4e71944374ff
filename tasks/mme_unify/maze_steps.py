"""Computes the right actions, locations and pictures of MME-Unify by step of a maze,
for the paper's figure 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mmeval.aggregate import Scores, summarise
from mmeval.results import NumberKey, TableNumber, counted_by, result_of

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

TASK = "mme_unify_vcot"
NUMBERS = ("mme_unify_action", "mme_unify_location", "mme_unify_maze_image")
LONGEST = 7
"""The number of steps of the longest maze."""


def step_numbers(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the share of right answers in each step, over the mazes with this step."""
    for task in run.tasks:
        for number in NUMBERS if task.name == TASK else ():
            result = result_of(run, task, number)
            if result is not None and result.value is not None:
                yield from _by_step(run, task, number)


def _by_step(
    run: StoredRun,
    task: StoredTask,
    number: str,
) -> Iterator[TableNumber]:
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    by_step = [Scores(range=(0.0, 1.0)) for _ in range(LONGEST)]
    for row in task.score_rows():
        score = row["scores"].get(number, {})
        if score.get("status") != "scored" or not is_counted(row["i"], row["n"]):
            continue
        wrong = score.get("evidence", {}).get("wrong", ())
        steps = int(score.get("weight", 1))
        for step, scores in enumerate(by_step[:steps]):
            is_right = float(step not in wrong)
            cluster = row.get("cluster", "")
            scores.add_value(row["s"], row["n"], is_right, cluster=cluster)
    for step, scores in enumerate(by_step, start=1):
        key = NumberKey(task.name, number, f"step={step}")
        result = summarise(task.name, number, scores)
        if result.value is None:
            # no maze of the data has so many steps
            yield TableNumber(key, None, "cannot")
        else:
            yield TableNumber(
                key, result.value, interval=result.interval, n=result.scored
            )
