"""Published tables of agreement: their values by task, and the mean over tasks."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval
from tests.support.human_studies import (
    Row,
    accuracies_by_task,
    correlations_by_task,
    write_table,
)

Study = Callable[[dict[str, float], str], tuple[list[Row], list[Row]]]
PUBLISHED = json.loads(
    Path(os.environ["MMEVAL_TRUST_CASES"])
    .with_name("published.json")
    .read_text("utf-8")
)


def macro_mean(
    values: dict[str, float], make: Study, statistic: str, folder: Path
) -> float:
    """What the command prints for ratings and scores with these values by task."""
    ratings, scores = make(values, "judge")
    write_table(folder / "ratings.csv", ratings)
    write_table(folder / "scores.csv", scores)
    ended = mmeval(
        *[
            "agree",
            "ratings.csv",
            "--scores",
            "scores.csv",
            "--by",
            "task",
            "--format",
            "json",
        ],
        *("--human", "majority"),
        cwd=folder,
    )
    assert ended.code == 0, ended.err
    printed: dict[str, Any] = json.loads(ended.out)["macro"][statistic]
    assert printed["of"] == len(values)
    return float(printed["value"])


@pytest.mark.parametrize(
    ("group", "mean"),
    [
        ("image", 0.9477),
        ("interleaved_image", 0.9591),
        ("audio", 0.9257),
        ("interleaved_audio", 0.910),
    ],
)
def test_mmmg_has_the_mean_of_its_best_methods(
    group: str, mean: float, tmp_path: Path
) -> None:
    best = {}
    for task, row in PUBLISHED["mmmg_table8"]["tasks"].items():
        if row["group"] == group:
            best[task] = max(value for value in row["agree"] if value is not None)
    value = macro_mean(best, accuracies_by_task, "accuracy", tmp_path)
    assert value == pytest.approx(mean, abs=0.00005)


def test_all_tasks_of_mmmg_have_a_mean_other_than_the_printed_one() -> None:
    best = []
    for row in PUBLISHED["mmmg_table8"]["tasks"].values():
        best.append(max(value for value in row["agree"] if value is not None))
    assert sum(best) / len(best) == pytest.approx(0.9447, abs=0.00005)


@pytest.mark.parametrize(
    ("name", "mean", "statistic", "make"),
    [
        ("block_score_pearson", 0.718, "pearson", correlations_by_task),
        ("block_yes_no_pearson", 0.446, "pearson", correlations_by_task),
        ("image_accuracy", 0.9067, "accuracy", accuracies_by_task),
        ("holistic_with_golden", 0.73, "accuracy", accuracies_by_task),
        ("holistic_without_golden", 0.5725, "accuracy", accuracies_by_task),
    ],
)
def test_isg_has_the_mean_of_its_columns(
    name: str, mean: float, statistic: str, make: Study, tmp_path: Path
) -> None:
    table = PUBLISHED["isg_table3"]
    values = {}
    for column, value in zip(table["columns"], table[name]["values"], strict=True):
        if value is not None:
            values[column] = value
    printed = macro_mean(values, make, statistic, tmp_path)
    assert printed == pytest.approx(mean, abs=0.0005)
