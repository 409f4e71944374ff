"""A row that ends the worker of a run each time."""

from pathlib import Path
from typing import Any

from tests.stories.test_process_model import ROWS
from tests.support.backend_runs import ProcessRuns
from tests.support.cli import gone, results


def number(runs: ProcessRuns) -> dict[str, Any]:
    (row,) = results(runs.folder)["mmeval"]["results"]
    return {name: row[name] for name in ("value", "scored", "n")}


def test_a_row_that_ends_the_worker_each_time_fails_alone(tmp_path: Path) -> None:
    runs = ProcessRuns(tmp_path, [*ROWS[:5], "deadly", *ROWS[5:]])
    ended = runs.whole("killer", "--log_samples")
    assert (ended.code, number(runs)) == (3, {"value": 1.0, "scored": 12, "n": 13}), (
        ended.err
    )
    assert runs.loads() <= 3
    failed = next(
        (tmp_path / "runs" / "m" / "default" / "trials").rglob("*.jsonl")
    ).read_text()
    assert "memory ran out" in failed
    assert "the last words" in failed
    assert "the last words" in runs.log()
    assert gone(runs.processes())
