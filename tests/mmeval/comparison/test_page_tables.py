"""The plots and tables of a comparison's page."""

from pathlib import Path
from typing import Any

from mmeval.comparison.compare import Comparison, compare
from mmeval.comparison.page_tables import comparison_tables, forest_plots
from mmeval.report.page.pivot import PivotRow
from tests.support.stored_runs import WrittenTrial, text, write_run


def scored(folder: Path, name: str, values: list[float], metric: str = "right") -> Path:
    trials = []
    for value in values:
        scores = {metric: {"status": "scored", "value": value}}
        trials.append(WrittenTrial([text("?")], [text("!")], scores))
    return write_run(folder / name, trials, task="vqa", results={}, model=name)


def compared(tmp_path: Path, **options: Any) -> Comparison:
    low = scored(tmp_path, "low", [0.0, 1.0] * 10)
    high = scored(tmp_path, "high", [1.0] * 18)
    return compare(low, high, **options)


def first_row(comparison: Comparison) -> PivotRow:
    return next(comparison_tables(comparison)).rows[0]


def test_a_number_has_its_title_and_verdict_in_words(tmp_path: Path) -> None:
    row = first_row(compared(tmp_path))
    assert (row.name, row.detail) == ("vqa, right", "better")
    assert row.href == "#task=vqa"


def test_an_unseen_difference_has_the_one_that_would_have_been_seen(
    tmp_path: Path,
) -> None:
    half = scored(tmp_path, "half", [0.0, 1.0] * 10)
    same = scored(tmp_path, "same", [1.0, 0.0] * 10)
    comparison = compare(half, same)
    smallest = comparison.numbers[0].smallest_seen
    detail = first_row(comparison).detail
    assert detail == f"no difference seen; would have been seen: {smallest:.3f}"


def test_the_values_are_below_the_names_of_the_runs(tmp_path: Path) -> None:
    cells = {cell.label: cell.value for cell in first_row(compared(tmp_path)).cells}
    assert (cells["low"], cells["high"]) == ("0.500", "1.000")
    assert cells["difference"] == "+0.500"


def test_missing_pairs_are_explained_in_the_row(tmp_path: Path) -> None:
    assert "2 not asked in high" in first_row(compared(tmp_path)).remark


def test_the_plot_has_the_margin_on_the_worse_side(tmp_path: Path) -> None:
    (plot,) = forest_plots(compared(tmp_path, fail_if_worse=0.25), {})
    assert plot.draw().markup().count('class="limit"') == 1
    assert "margin" in plot.words


def test_a_margin_of_equality_is_on_both_sides(tmp_path: Path) -> None:
    (plot,) = forest_plots(compared(tmp_path, fail_unless_equal=0.25), {})
    assert plot.draw().markup().count('class="limit"') == 2


def test_rankings_of_several_runs_have_a_row_for_each_run(tmp_path: Path) -> None:
    runs = [scored(tmp_path, name, [at / 3] * 20) for at, name in enumerate("abc")]
    _, ranking, differences = comparison_tables(compare(*runs))
    assert [row.name for row in ranking.rows] == ["c", "b", "a"]
    assert [cell.label for cell in differences.rows[0].cells] == ["a", "b", "c"]
