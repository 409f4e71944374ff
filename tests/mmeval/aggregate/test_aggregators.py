from __future__ import annotations

import pytest

from mmeval.aggregate.aggregators import repeat_means, repeats, spread
from mmeval.aggregate.scores import Scores, load_aggregator
from mmeval.aggregate.summary import summarise
from mmeval.records.score import Score

ROWS = [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]
"""Three samples, each answered four times."""
HALF_WIDTH = 0.2667222164363905
"""Of these, by the scorer that MMMG was released with."""


def scores(rows: list[list[float]] = ROWS) -> Scores:  # type: ignore[assignment]  # whole numbers are numbers
    found = Scores(range=(0, 1))
    for sample, values in enumerate(rows):
        for repeat, value in enumerate(values):
            found.add_value(f"s{sample}", repeat, value)
    return found


def test_the_interval_is_that_of_the_released_scorer() -> None:
    result = summarise("t", "m", scores(), repeats, bootstrap_iters=100)

    assert result.value == pytest.approx(2 / 3)
    assert result.ci95 == pytest.approx((2 / 3 - HALF_WIDTH, 2 / 3 + HALF_WIDTH))
    assert (result.stderr, result.bootstrap_iters) == (pytest.approx(HALF_WIDTH / 1.96), 0)


def test_the_means_come_in_the_order_of_the_repeats() -> None:
    found = Scores()
    for repeat, value in [(2, 0.5), (0, 1.0), (2, 1.5), (1, 0.25)]:
        found.add_value("s", repeat, value)
    assert repeat_means(found) == [1.0, 0.25, 1.0]


def test_what_is_unscored_is_left_out_of_its_repeat() -> None:
    found = scores([[1, 0], [0, 1]])
    found.add("s2", 0, Score.unscored("lost"))
    assert repeat_means(found) == [0.5, 0.5]


def test_the_interval_is_not_cut_at_the_range() -> None:
    result = summarise("t", "m", scores([[1, 0], [1, 1]]), repeats)
    assert result.ci95 == pytest.approx((0.75 - 0.49, 0.75 + 0.49))


def test_equal_repeats_have_no_spread_and_the_interval_is_a_point() -> None:
    assert summarise("t", "m", scores([[1, 1], [0, 0]]), repeats).ci95 == (0.5, 0.5)


def test_one_repeat_says_nothing_of_how_sure_it_is_and_nothing_is_made_up_for_it() -> None:
    result = summarise("t", "m", scores([[1], [0], [1]]), repeats, bootstrap_iters=100)
    assert (result.value, result.stderr, result.ci95) == (pytest.approx(2 / 3), None, None)


def test_without_a_score_there_is_no_value() -> None:
    assert summarise("t", "m", Scores(), repeats).value is None


def test_bounds_are_those_of_the_mean() -> None:
    found = scores([[1, 0], [1, 0]])
    found.add("s2", 0, Score.unscored("lost"))
    found.add("s2", 1, Score.unscored("lost"))
    assert summarise("t", "m", found, repeats).bounds == pytest.approx((1 / 3, 2 / 3))


def test_a_single_mean_has_no_half_width() -> None:
    assert (spread([0.5]).mean, spread([0.5]).half_width) == (0.5, None)


def test_it_is_known_by_its_name() -> None:
    assert load_aggregator("repeats") is repeats
