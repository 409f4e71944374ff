import math

import pytest

from mmeval.aggregate.aggregators import macro_mean, repeats
from mmeval.aggregate.scores import Scores
from mmeval.aggregate.summary import summarise
from mmeval.records.score import Score

HALF_WIDTH = 0.2667222164363905
"""Of three samples, each answered four times, by the scorer that MMMG was released with."""


def scores(*rows: list[float], lost: int = 0) -> Scores:
    """Rows of repeats; then one sample of which ``lost`` repeats are unscored."""
    found = Scores(range=(0, 1))
    for sample, values in enumerate(rows):
        for repeat, value in enumerate(values):
            found.add_value(f"s{sample}", repeat, value)
    for repeat in range(lost):
        found.add("lost", repeat, Score.unscored("lost"))
    return found


def test_the_interval_of_repeats_is_that_of_the_released_scorer_and_bounds_are_those_of_the_mean() -> None:
    found = summarise("t", "m", scores([1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]), repeats, bootstrap_iters=100)
    assert found.value == pytest.approx(2 / 3)
    assert found.ci95 == pytest.approx((2 / 3 - HALF_WIDTH, 2 / 3 + HALF_WIDTH))
    assert (found.stderr, found.bootstrap_iters) == (pytest.approx(HALF_WIDTH / 1.96), 0)
    assert summarise("t", "m", scores([1, 0], [1, 0], lost=2), repeats).bounds == pytest.approx((1 / 3, 2 / 3))


@pytest.mark.parametrize(
    ("given", "value", "ci95"),
    [
        *((scores([1, 0], [1, 1]), 0.75, (0.75 - 0.49, 0.75 + 0.49)), (scores([1, 1], [0, 0]), 0.5, (0.5, 0.5))),
        *((scores([1], [0], [1]), 2 / 3, None), (Scores(), None, None)),
    ],
    ids=["not cut", "no spread", "one repeat", "no score"],
)
def test_the_interval_of_repeats(given: Scores, value: float | None, ci95: tuple[float, float] | None) -> None:
    found = summarise("t", "m", given, repeats, bootstrap_iters=100)
    assert (found.value, found.ci95) == (pytest.approx(value), ci95 and pytest.approx(ci95))


def of_files(**parts: list[float | None]) -> Scores:
    """Scores by the value of the label ``file``; None is an unscored trial."""
    found = Scores(range=(0, 1))
    for name, values in parts.items():
        for at, value in enumerate(values):
            score = Score.unscored("lost") if value is None else Score(value)
            found.add(f"{name}/{at}", 0, score, labels={"file": name})
    return found


def test_parts_of_different_size_count_the_same_with_the_standard_error_of_a_mean_of_means() -> None:
    uneven = of_files(zh=[1.0], de=[0.0, 0.0, 0.0])
    assert [macro_mean(uneven, by=label).value for label in ("file", "language")] == [0.5, 0.25]
    assert macro_mean(of_files(zh=[None], de=[0.25, 0.75]), by="file").value == 0.5
    assert macro_mean(of_files(zh=[None]), by="file").value is None
    found = macro_mean(of_files(zh=[0.0, 1.0], de=[0.0, 0.5]), by="file")
    assert found.stderr == pytest.approx(math.hypot(0.5, 0.25) / 2)
