from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from mmeval.comparison.correlation.correlate import Correlated, correlate
from mmeval.comparison.correlation.text import (
    correlated_text,
    tables_of_correlations,
)
from mmeval.errors import UsageError
from mmeval.results.board import Board, BoardRun, write_board
from tests.support.stored_runs import WrittenTrial, text, write_run

MODELS = ("a", "b", "c", "d", "e")


def board(folder: Path, values: Mapping[str, float]) -> Path:
    file = folder / "board.csv"
    lines = [f"{model},{value}" for model, value in values.items()]
    file.write_text("\n".join(["model,value", *lines, ""]))
    return file


def published(folder: Path, **tasks: Sequence[float]) -> Path:
    """Numbers of the models, by task."""
    lines = ["model,task,metric,value"]
    for task, values in tasks.items():
        for model, value in zip(MODELS, values, strict=False):
            lines.append(f"{model},{task},score,{value}")
    file = folder / "published.csv"
    file.write_text("\n".join([*lines, ""]))
    return file


def run(folder: Path, model: str, values: Sequence[float]) -> Path:
    trials = []
    for place, value in enumerate(values):
        scores = {"right": {"value": value, "status": "scored"}}
        trials.append(
            WrittenTrial(
                [text("?")], [text("!")], scores, sample=f"s{place}", place=place
            )
        )
    metric = {"outputs": ["right"], "range": [0, 1], "aggregation": "mean"}
    mean = {"task": "ask", "metric": "right", "value": fmean(values)}
    number = {**mean, "n": len(values), "scored": len(values)}
    results = {"metrics": {"ask": {"right": metric}}, "results": [number]}
    return write_run(folder / model, trials, task="ask", results=results, model=model)


def of_published(folder: Path, **options: Any) -> Correlated:
    file = published(folder, good=[1, 2, 3, 4, 5], bad=[2, 1, 3, 5, 4])
    values = board(folder, dict(zip(MODELS, [10, 20, 30, 40, 50], strict=True)))
    return correlate([], published=[file], reference=values, **options)


def test_each_published_number_is_correlated_with_the_board(tmp_path: Path) -> None:
    correlated = of_published(tmp_path, methods="spearman")
    values = {row.number.task: row.correlations[0].value for row in correlated.numbers}
    assert values == {"good": pytest.approx(1), "bad": pytest.approx(0.8)}


def test_any_two_numbers_have_a_difference_the_later_one_first(tmp_path: Path) -> None:
    correlated = of_published(tmp_path, methods="spearman")
    (pair,) = correlated.differences
    assert (pair.first.task, pair.second.task, pair.n) == ("bad", "good", 5)
    assert pair.differences[0].value == pytest.approx(-0.2)


def test_tasks_choose_numbers(tmp_path: Path) -> None:
    correlated = of_published(tmp_path, tasks="bad")
    assert [row.number.task for row in correlated.numbers] == ["bad"]


def test_models_that_only_one_side_has_are_named(tmp_path: Path) -> None:
    file = published(tmp_path, task=[1, 2, 3, 4])
    values = board(tmp_path, {"a": 1, "b": 3, "c": 2, "z": 9})
    correlated = correlate([], published=[file], reference=values)
    assert correlated.numbers[0].members == ("a", "b", "c")
    assert (correlated.without, correlated.only_there) == (("d",), ("z",))


def test_few_models_can_turn_the_order(tmp_path: Path) -> None:
    words = correlated_text(of_published(tmp_path), 80)
    assert "one model can turn the order" in words


def test_runs_and_published_rows_are_correlated_together(tmp_path: Path) -> None:
    runs = [run(tmp_path, "x", [0.0, 0.5]), run(tmp_path, "y", [1.0, 1.0])]
    file = tmp_path / "more.csv"
    file.write_text("model,task,metric,value\nz,ask,right,0.6\n")
    values = board(tmp_path, {"x": 1, "y": 3, "z": 2})
    correlated = correlate(runs, published=[file], reference=values, methods="spearman")
    (row,) = correlated.numbers
    assert row.members == ("x", "y", "z")
    assert row.correlations[0].value == pytest.approx(1)


def test_a_board_file_stands_for_its_runs(tmp_path: Path) -> None:
    rows = []
    for name, value in (("x", 0.0), ("y", 1.0)):
        rows.append(BoardRun(run(tmp_path, name, [value]), name.upper()))
    write_board(tmp_path / "all.board.yaml", Board("", tuple(rows)))
    values = board(tmp_path, {"X": 1, "Y": 2})
    correlated = correlate([tmp_path / "all.board.yaml"], reference=values)
    assert correlated.numbers[0].members == ("X", "Y")


def ratings(folder: Path, *rows: str, columns: str = "task,sample,value") -> Path:
    file = folder / "ratings.csv"
    file.write_text("\n".join([columns, *rows, ""]))
    return file


def test_scores_of_samples_are_correlated_with_ratings(tmp_path: Path) -> None:
    folder = run(tmp_path, "x", [0.0, 0.25, 0.5, 0.75, 1.0])
    rows = [f"ask,s{place},{place}" for place in range(5)]
    correlated = correlate(
        [folder], reference=ratings(tmp_path, *rows), methods="kendall"
    )
    (row,) = correlated.numbers
    assert correlated.level == "sample"
    assert row.correlations[0].value == pytest.approx(1)
    assert row.correlations[0].n == 5


def test_ratings_without_a_scored_trial_are_counted(tmp_path: Path) -> None:
    folder = run(tmp_path, "x", [0.0, 1.0])
    rows = ["ask,s0,1", "ask,s1,2", "ask,s2,3", "asks,s0,4"]
    correlated = correlate([folder], reference=ratings(tmp_path, *rows))
    assert (correlated.unused, correlated.rated) == (2, 4)


def test_unused_ratings_are_noted(tmp_path: Path) -> None:
    folder = run(tmp_path, "x", [0.0, 1.0])
    rows = ["ask,s0,1", "ask,s1,2", "ask,s2,3"]
    correlated = correlate([folder], reference=ratings(tmp_path, *rows))
    note = "Not used: 1 of 3 rated trials, which have no score here."
    assert note in tables_of_correlations(correlated)[0].notes


def test_ratings_of_several_runs_name_the_model(tmp_path: Path) -> None:
    runs = [run(tmp_path, "x", [0.0, 1.0]), run(tmp_path, "y", [1.0, 0.0])]
    rows = ["x,ask,s0,1", "x,ask,s1,5", "y,ask,s0,5", "y,ask,s1,1"]
    file = ratings(tmp_path, *rows, columns="model,task,sample,value")
    correlated = correlate(runs, reference=file, methods="pearson")
    (entry,) = correlated.numbers[0].correlations
    assert entry.value == pytest.approx(1)
    # answers to one sample are one cluster
    assert (entry.n, entry.clusters) == (4, 2)


def test_several_runs_need_the_column_model(tmp_path: Path) -> None:
    runs = [run(tmp_path, "x", [0.0]), run(tmp_path, "y", [1.0])]
    with pytest.raises(UsageError, match="column 'model'"):
        correlate(runs, reference=ratings(tmp_path, "ask,s0,1"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": "sample"}, "--level"),
        ({"methods": "spaerman"}, "spearman"),
        ({"by": "level"}, "--by"),
        ({"tasks": "goood"}, "good"),
        ({"metrics": "scroe"}, "score"),
    ],
)
def test_a_wrong_option_is_refused(
    options: dict[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        of_published(tmp_path, **options)


def test_nothing_to_correlate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give runs"):
        correlate([], reference=board(tmp_path, {"a": 1}))


def test_a_board_without_any_of_the_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the models"):
        correlate(
            [],
            published=[published(tmp_path, task=[1, 2])],
            reference=board(tmp_path, {"z": 1}),
        )


def test_a_model_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path, "a", [1.0])
    with pytest.raises(UsageError, match="occurs twice"):
        correlate(
            [folder],
            published=[published(tmp_path, task=[1, 2])],
            reference=board(tmp_path, {"a": 1}),
        )


def test_a_model_in_two_published_groups_is_refused_with_its_remedy(
    tmp_path: Path,
) -> None:
    file = tmp_path / "paper.csv"
    file.write_text("model,group,task,metric,value\na,X,t,m,1\na,Y,u,m,2\n")
    with pytest.raises(UsageError, match="give its published numbers once"):
        correlate([], published=[file], reference=board(tmp_path, {"a": 1}))


def test_tables_have_a_table_for_each_method_then_the_differences(
    tmp_path: Path,
) -> None:
    titles = [table.title for table in tables_of_correlations(of_published(tmp_path))]
    assert [title.partition(" with ")[0] for title in titles] == [
        "pearson",
        "spearman",
        "kendall",
    ] * 2
    assert [title.endswith("differences") for title in titles] == [False] * 3 + [
        True
    ] * 3


def test_slices_by_a_label_follow_the_number_of_all_samples(tmp_path: Path) -> None:
    trials = []
    for place in range(8):
        scores = {"right": {"value": place / 8, "status": "scored"}}
        level = "easy" if place < 4 else "hard"
        trials.append(
            WrittenTrial(
                [text("?")],
                [text("!")],
                scores,
                sample=f"s{place}",
                place=place,
                labels={"level": level},
            )
        )
    folder = write_run(tmp_path / "x", trials, task="ask", results={}, model="x")
    rows = [f"ask,s{place},{-place}" for place in range(8)]
    correlated = correlate(
        [folder],
        reference=ratings(tmp_path, *rows),
        methods="spearman",
        by="level",
    )
    counts = {row.number.slice: row.correlations[0].n for row in correlated.numbers}
    assert counts == {"": 8, "level=easy": 4, "level=hard": 4}


def two_metrics(folder: Path) -> Path:
    """A run of six samples at three levels with two metrics, of which the second has no
    score for the last sample."""
    trials = []
    for place in range(6):
        scores = {
            "right": {"value": float(place), "status": "scored"},
            "wrong": {"value": float(-place), "status": "scored"},
        }
        if place == 5:
            del scores["wrong"]
        trials.append(
            WrittenTrial(
                [text("?")],
                [text("!")],
                scores,
                sample=f"s{place}",
                place=place,
                labels={"level": str(place % 3)},
            )
        )
    metrics = {
        name: {"outputs": [name], "range": [-9, 9], "aggregation": "mean"}
        for name in ("right", "wrong")
    }
    numbers = []
    for name in ("right", "wrong"):
        number = {"task": "ask", "metric": name, "value": 0.0}
        numbers.append({**number, "n": 6, "scored": 6})
    results = {"metrics": {"ask": metrics}, "results": numbers}
    return write_run(folder / "x", trials, task="ask", results=results, model="x")


def test_metrics_of_one_task_are_compared_over_the_trials_that_both_scored(
    tmp_path: Path,
) -> None:
    rows = [f"ask,s{place},{place}" for place in range(6)]
    correlated = correlate(
        [two_metrics(tmp_path)],
        reference=ratings(tmp_path, *rows),
        metrics="all",
        methods="spearman",
    )
    (pair,) = correlated.differences
    assert pair.n == 5
    assert pair.differences[0].value == pytest.approx(-2)


def test_metrics_are_compared_in_each_of_many_slices(tmp_path: Path) -> None:
    rows = [f"ask,s{place},{place}" for place in range(6)]
    correlated = correlate(
        [two_metrics(tmp_path)],
        reference=ratings(tmp_path, *rows),
        metrics="all",
        methods="pearson",
        by="level",
    )
    slices = {pair.first.slice for pair in correlated.differences}
    assert slices == {"", "level=0", "level=1", "level=2"}
