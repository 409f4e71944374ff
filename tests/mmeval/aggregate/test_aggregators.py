from __future__ import annotations

import math

import pytest

from mmeval.aggregate.aggregators import macro_mean, repeat_means, repeats, spread
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


def scores_of(**parts: list[float | None]) -> Scores:
    """Scores by the value of the label ``file``; None is an unscored trial."""
    scores = Scores(range=(0, 1))
    for name, values in parts.items():
        for at, value in enumerate(values):
            score = Score.unscored("lost") if value is None else Score(value)
            scores.add(f"{name}/{at}", 0, score, labels={"file": name})
    return scores


def test_parts_of_different_size_count_the_same() -> None:
    assert macro_mean(scores_of(zh=[1.0], de=[0.0, 0.0, 0.0]), by="file").value == 0.5


def test_a_part_without_a_score_is_left_out() -> None:
    assert macro_mean(scores_of(zh=[None], de=[0.25, 0.75]), by="file").value == 0.5


def test_without_the_label_it_is_the_mean() -> None:
    assert macro_mean(scores_of(zh=[1.0], de=[0.0, 0.0, 0.0]), by="language").value == 0.25


def test_nothing_scored_gives_no_value() -> None:
    assert macro_mean(scores_of(zh=[None]), by="file").value is None


def test_the_standard_error_is_that_of_the_mean_of_two_means() -> None:
    found = macro_mean(scores_of(zh=[0.0, 1.0], de=[0.0, 0.5]), by="file")

    # Standard errors of 0.5 and 0.25, by hand.
    assert found.stderr == pytest.approx(math.hypot(0.5, 0.25) / 2)


def test_it_is_registered_and_bounded_by_what_is_lost() -> None:
    result = summarise("t", "m", scores_of(zh=[1.0, None], de=[0.0] * 6), load_aggregator("macro_mean"), {"by": "file"})

    assert (result.value, result.bounds) == (0.5, (0.25, 0.5))
