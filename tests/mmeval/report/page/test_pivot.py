"""The tables of numbers: a row for each task or model, a cell for each metric."""

from typing import Any

from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.page.pivot import MOST_COLUMNS, PivotTable, cautions_of, pivot_tables
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result

NAMES = ["one", "two"]
INTERVAL: dict[str, Any] = {"ci95": [0.25, 0.75]}


def tables(*documents: dict[str, Any], **more: Any) -> list[PivotTable]:
    names = NAMES[: len(documents)]
    return pivot_tables(number_rows(documents, names), names, **more)


def test_a_task_has_one_row_with_a_cell_for_each_metric() -> None:
    (table,) = tables(document(result("a", "m", **INTERVAL), result("a", "k", 0.125)))
    (row,) = table.rows
    assert (row.name, row.href, row.version) == ("A", "#task=a", "1.0")
    assert [(cell.label, cell.value, cell.interval) for cell in row.cells] == [
        ("m", "0.500", "0.250 to 0.750"),
        ("k", "0.125", ""),
    ]


def test_slices_of_a_task_are_folded_by_their_label() -> None:
    slices = [result("a", slice=f"level={level}", n=2) for level in ("easy", "hard")]
    (table,) = tables(document(result("a"), *slices))
    (fold,) = table.rows[0].folds
    assert fold.title == "By level: 2"
    assert [(row.name, row.href, row.detail) for row in fold.rows] == [
        ("easy", "#task=a&label.level=easy", "2 trials"),
        ("hard", "#task=a&label.level=hard", "2 trials"),
    ]


def test_counts_are_stated_only_where_they_differ() -> None:
    few = result("a", "k", scored=1, inapplicable=3)
    (table,) = tables(document(result("a"), few, result("b"), result("c", n=9)))
    notes = [cell.note for cell in table.rows[0].cells]
    assert notes == ["", "1 of 4 scored: 3 inapplicable"]
    assert [row.detail for row in table.rows] == ["", "", "9 trials"]
    assert "over 4 trials" in table.about


def test_a_remark_on_all_metrics_of_a_task_is_stated_once() -> None:
    lost = {"scored": 3, "failed": 1}
    (table,) = tables(document(result("a", "m", **lost), result("a", "k", **lost)))
    (row,) = table.rows
    assert row.detail == "3 of 4 scored: 1 failed"
    assert [cell.note for cell in row.cells] == ["", ""]


def test_a_number_has_only_the_interval_that_covers_its_lost_trials() -> None:
    lost = result(
        "a",
        scored=3,
        failed=1,
        **INTERVAL,
        bounds=[0.375, 0.625],
        bounds_ci95=[0.125, 0.875],
    )
    (table,) = tables(document(lost))
    (cell,) = table.rows[0].cells
    assert cell.interval == "0.125 to 0.875"
    assert "bounds" not in cell.note


def test_the_baseline_is_beside_its_number() -> None:
    beside = BaselineColumn("other", {Key("a", "m"): Result("a", "m", 0.25, 4, 4)})
    (table,) = tables(document(result("a")), baseline=beside)
    assert table.rows[0].cells[0].beside == "other 0.250"


def test_labels_are_repeated_only_where_they_change() -> None:
    both = [result(task, metric) for task in "ab" for metric in "mk"]
    (table,) = tables(document(*both, result("c"), result("d")))
    marks = [row.has_labels_above for row in table.rows]
    assert marks == [False, True, False, False]


def test_without_a_value_there_is_no_table() -> None:
    assert tables(document(result("a", value=None, scored=0))) == []


def test_several_runs_have_a_row_for_each_model_with_the_best_value_marked() -> None:
    (table,) = tables(
        document(result("a", value=0.25), result("b", higher_is_better=False)),
        document(result("a"), result("b", value=0.75, higher_is_better=False)),
    )
    assert [row.name for row in table.rows] == NAMES
    marks = [[cell.is_best for cell in row.cells] for row in table.rows]
    assert marks == [[False, True], [True, False]]


def test_equal_values_are_not_marked() -> None:
    (table,) = tables(document(result("a")), document(result("a")))
    assert not any(row.cells[0].is_best for row in table.rows)


def test_the_best_value_of_what_is_not_correctness_is_not_marked() -> None:
    (table,) = tables(
        document(result("a", value=0.25)),
        document(result("a")),
        cautions={"m": "It ignores colours."},
    )
    assert not any(row.cells[0].is_best for row in table.rows)


def test_a_run_that_is_not_comparable_is_not_the_best() -> None:
    (table,) = tables(
        document(result("a"), protocols={"a": "single"}),
        document(result("a", value=0.75), protocols={"a": "episode"}),
    )
    cell = table.rows[1].cells[0]
    assert not cell.is_best
    assert "not comparable with one" in cell.note


def test_further_metrics_of_a_task_have_a_table_of_their_own() -> None:
    several = document(result("a", "m"), result("a", "k"), result("b"))
    overview, of_task = tables(several, several)
    assert [cell.label for cell in overview.rows[0].cells] == ["A, m", "B, m"]
    assert of_task.title == "A"
    assert [cell.label for cell in of_task.rows[0].cells] == ["m", "k"]


def test_of_many_tasks_the_overview_has_those_that_no_group_contains() -> None:
    tasks = [f"t{at}" for at in range(MOST_COLUMNS)]
    many = document(result("g"), *map(result, tasks), groups={"g": tasks})
    overview = tables(many, many)[0]
    assert [cell.label for cell in overview.rows[0].cells] == ["G, m"]


def test_what_a_metric_does_not_measure_is_stated_below_the_table() -> None:
    metrics = {"a": {"m": {"outputs": ["m"], "caution": "It ignores colours."}}}
    given = document(result("a", "m"), result("a", "k"), metrics=metrics)
    (table,) = tables(given, cautions=cautions_of([given]))
    assert table.notes == ("m: It ignores colours.",)
