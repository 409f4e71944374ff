from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.metric.scoring.score_set import ScoreSet, finished_rows
from mmeval.records.score import Score
from mmeval.system.json_lines import sealed, to_line
from tests.support.engine import file_limit

PLAN = {"metrics": [{"metric": "m", "version": "1"}], "outputs": ["a", "b"]}


def line(
    index: int, digest: str = "d", *, repeat: int = 0, status: str = "ok", **scores: Any
) -> bytes:
    """A row; a score of None is unscored."""
    given = {
        name: value.to_json()
        if isinstance(value, Score)
        else {"value": value, "status": "unscored" if value is None else "scored"}
        for name, value in scores.items()
    }
    row = {
        "i": index,
        "n": repeat,
        "s": f"s{index}",
        "d": digest,
        "status": status,
        "scores": given,
    }
    return sealed(to_line(row))


def rows_of(run: Path) -> list[dict[str, Any]]:
    return list(
        finished_rows(ScoreSet(run, "t", PLAN).folder, lambda index, repeat: True)
    )


def finished(
    run: Path, *lines: bytes, plan: dict[str, Any] = PLAN
) -> dict[tuple[int, int], dict[str, float | None]]:
    """Values by trial, after these rows came in a process of their own."""
    scores = ScoreSet(run, "t", plan)
    for row in lines:
        scores.add(row)
    scores.finish()
    return {
        (r["i"], r["n"]): {name: score["value"] for name, score in r["scores"].items()}
        for r in rows_of(run)
    }


def covers(run: Path, index: int = 0, digest: str = "d") -> bool:
    return ScoreSet(run, "t", PLAN).covers(index, 0, digest)


def test_rows_come_in_the_order_of_the_data_set_and_only_the_wanted_ones(
    tmp_path: Path,
) -> None:
    found = finished(
        tmp_path, line(2, a=1), line(0, repeat=1, a=2), line(0, a=3), line(1, a=4)
    )
    assert list(found) == [(0, 0), (0, 1), (1, 0), (2, 0)]
    rows = finished_rows(
        ScoreSet(tmp_path, "t", PLAN).folder,
        lambda index, repeat: index > 0 or repeat == 1,
    )
    assert [(row["i"], row["n"]) for row in rows] == [(0, 1), (1, 0), (2, 0)]


@pytest.mark.parametrize(
    ("earlier", "later", "value"),
    [
        (line(0, a=1), line(0, b=0.5), {"a": 1, "b": 0.5}),
        (line(0, "old", a=1, b=1), line(0, "new", a=0), {"a": 0}),
        (line(0, a=None, b=1), line(0, a=0.5, b=None), {"a": 0.5, "b": 1}),
        (line(0, status="failed"), line(0, a=1, b=1), {"a": 1, "b": 1}),
    ],
    ids=["completed", "of an older answer", "scored and unscored", "failed before"],
)
def test_a_later_row_completes_an_earlier_one(
    earlier: bytes, later: bytes, value: Any, tmp_path: Path
) -> None:
    finished(tmp_path / "two", earlier)
    assert (
        finished(tmp_path / "two", later)
        == finished(tmp_path / "one", earlier, later)
        == {(0, 0): value}
    )
    assert [row["status"] for row in rows_of(tmp_path / "one")] == ["ok"]


def test_a_trial_is_covered_when_every_output_of_this_answer_is_scored(
    tmp_path: Path,
) -> None:
    finished(tmp_path, line(0, a=1), line(1, a=1, b=None), line(2, status="failed"))
    assert [covers(tmp_path, index) for index in range(4)] == [False] * 4
    finished(tmp_path, line(0, b=0), line(1, b=1))
    assert [covers(tmp_path, index) for index in range(4)] == [True, True, False, False]
    assert not covers(tmp_path, 0, "another answer")


def test_rows_of_a_process_that_was_killed_count(tmp_path: Path) -> None:
    killed = ScoreSet(tmp_path, "t", PLAN)
    killed.add(line(0, a=1, b=1) + line(1, a=1, b=1)[:-9])
    killed.close()
    assert (covers(tmp_path, 0), covers(tmp_path, 1)) == (True, False)
    assert finished(tmp_path, line(1, a=0, b=0)) == {
        (0, 0): {"a": 1, "b": 1},
        (1, 0): {"a": 0, "b": 0},
    }


def test_a_full_disk_is_an_error_and_whole_rows_before_it_stay(tmp_path: Path) -> None:
    scores = ScoreSet(tmp_path, "t", PLAN)
    scores.add(line(0, a=1, b=1))
    more = [line(index, a=1, b=1) for index in range(1, 9)]
    with file_limit(300), pytest.raises(StorageError, match="File too large"):
        scores.add(b"".join(more))
    scores.close()
    found = finished(tmp_path, *more)
    assert sorted(found) == [(index, 0) for index in range(9)]
