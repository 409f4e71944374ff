"""The drawing of differences around a line at zero."""

import re

import pytest

from mmeval.report.charts.forest import ForestRow, forest

LOW = ForestRow("worse", "worse", -0.5, (-0.75, -0.25))
HIGH = ForestRow("better", "better", 0.5, (0.25, 0.75))


def points(markup: str) -> list[float]:
    """The x positions of the points, in the order of the rows."""
    return [float(x) for x in re.findall(r'class="point [a-z]+" cx="([\d.]+)"', markup)]


def lines(markup: str, name: str) -> list[float]:
    """The x positions of the vertical lines of one kind."""
    return [float(x) for x in re.findall(rf'class="{name}" x1="([\d.]+)"', markup)]


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
def test_losses_are_left_of_the_line_at_zero_and_gains_right(narrow: bool) -> None:
    markup = forest("t", [("a", [LOW]), ("b", [HIGH])], narrow=narrow).markup()
    low, high = points(markup)
    zero = lines(markup, "zero")[0]
    assert low < zero < high


def test_an_interval_is_a_line_with_two_ends() -> None:
    markup = forest("t", [("a", [HIGH])]).markup()
    assert len(lines(markup, "reach better")) == 3


def test_the_margin_of_a_gate_is_drawn_at_its_place() -> None:
    markup = forest("t", [("a", [LOW])], limits=[-0.5]).markup()
    assert lines(markup, "limit") == points(markup)


def test_a_row_without_a_difference_has_only_its_words() -> None:
    markup = forest("t", [("a", [LOW, ForestRow("no pairs", "unsure")])]).markup()
    assert "no pairs" in markup
    assert len(points(markup)) == 1


def test_names_of_models_stay_text() -> None:
    markup = forest("t", [("<script>", [LOW])]).markup()
    assert "<script>" not in markup


def test_a_row_with_a_text_of_its_own_has_no_sign() -> None:
    row = ForestRow("a", "unsure", 0.5, shown="0.5, n 20")
    markup = forest("t", [("a", [row])], has_zero=False).markup()
    assert "0.5, n 20" in markup
    assert "+0.5" not in markup


def test_values_that_are_no_differences_have_no_line_at_zero() -> None:
    markup = forest("t", [("a", [HIGH])], has_zero=False).markup()
    assert lines(markup, "zero") == []
