from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.results.stored_run import StoredRun
from mmeval.trust.run_scores import range_in_run, read_runs, scores_of_run
from tests.support.stored_runs import WrittenTrial, text, write_run


def told(value: float | None, **more: Any) -> WrittenTrial:
    score: dict[str, Any] = {"status": "unscored", "reason": "lost"}
    if value is not None:
        score = {"status": "scored", "value": value}
    return WrittenTrial(
        [text("?")],
        [text("!")],
        {"right": score},
        **more,
    )


def stored(folder: Path) -> StoredRun:
    trials = [
        told(
            1.0,
            sample="a",
            labels={"level": "easy"},
            metadata={"language": "en"},
        ),
        told(0.5, sample="a", place=0, repeat=1),
        told(None, sample="b", place=1),
    ]
    return StoredRun(write_run(folder, trials, results={}))


def test_each_trial_of_a_run_has_a_row(tmp_path: Path) -> None:
    rows = scores_of_run(stored(tmp_path), ["right"])
    values = {row.trial: row.value for row in rows}
    assert values == {
        "told/a/0": 1.0,
        "told/a/1": 0.5,
        "told/b/0": None,
    }


def test_labels_are_those_of_the_score_and_the_sample(tmp_path: Path) -> None:
    first = scores_of_run(stored(tmp_path), ["right"])[0]
    assert first.labels == {"level": "easy", "language": "en"}
    assert first.task == "told"


def test_a_metric_that_the_run_lacks_has_no_rows(tmp_path: Path) -> None:
    assert scores_of_run(stored(tmp_path), ["wrong"]) == []


def test_a_metric_that_no_run_has_is_refused_with_the_known_ones(
    tmp_path: Path,
) -> None:
    stored(tmp_path)
    with pytest.raises(UsageError, match='mean "right"\\? The metrics are: right'):
        read_runs([tmp_path], ["rihgt"])


def test_the_range_is_that_of_the_metric(tmp_path: Path) -> None:
    assert range_in_run(stored(tmp_path), "right") == (0.0, 1.0)


def test_two_runs_are_named_by_their_models(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        write_run(
            folder,
            [told(1.0)],
            results={},
            model=f"omni-{folder.name}",
        )
    scores = read_runs(folders, ["right"])
    assert scores.names == ("omni-a", "omni-b")
    assert [row.run for row in scores.rows] == ["omni-a", "omni-b"]
    assert scores.limits == (0.0, 1.0)


def test_the_only_run_needs_no_name(tmp_path: Path) -> None:
    write_run(tmp_path, [told(1.0)], results={})
    scores = read_runs([tmp_path], ["right"])
    assert scores.names == ("", "")
    assert scores.rows[0].run == ""
