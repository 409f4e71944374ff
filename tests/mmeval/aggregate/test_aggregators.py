import math
from typing import Literal

import pytest

from mmeval.aggregate.aggregators import macro_mean, mean, repeats, weighted_mean
from mmeval.aggregate.scores import Scores
from mmeval.aggregate.summary import summarise
from mmeval.records.score import Score

HALF_WIDTH = 0.2667222164363905
"""Of three samples, each answered four times, by the scorer that MMMG was released
with."""


def scores(*rows: list[float], lost: int = 0) -> Scores:
    """Rows of repeats; then one sample of which ``lost`` repeats are unscored."""
    found = Scores(range=(0, 1))
    for sample, values in enumerate(rows):
        for repeat, value in enumerate(values):
            found.add_value(f"s{sample}", repeat, value)
    for repeat in range(lost):
        found.add("lost", repeat, Score.unscored("lost"))
    return found


def test_the_interval_of_repeats_is_that_of_the_released_scorer_and_bounds_are_those_of_the_mean() -> (
    None
):
    found = summarise(
        "t",
        "m",
        scores([1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]),
        repeats,
        bootstrap_iters=100,
    )
    assert found.value == pytest.approx(2 / 3)
    assert found.ci95 == pytest.approx((2 / 3 - HALF_WIDTH, 2 / 3 + HALF_WIDTH))
    assert (found.stderr, found.bootstrap_iters) == (
        pytest.approx(HALF_WIDTH / 1.96),
        0,
    )
    assert summarise(
        "t", "m", scores([1, 0], [1, 0], lost=2), repeats
    ).bounds == pytest.approx((1 / 3, 2 / 3))


@pytest.mark.parametrize(
    ("given", "value", "ci95"),
    [
        (scores([1, 0], [1, 1]), 0.75, (0.75 - 0.49, 0.75 + 0.49)),
        (scores([1, 1], [0, 0]), 0.5, (0.5, 0.5)),
        (scores([1], [0], [1]), 2 / 3, None),
        (Scores(), None, None),
    ],
    ids=["not cut", "no spread", "one repeat", "no score"],
)
def test_the_interval_of_repeats(
    given: Scores, value: float | None, ci95: tuple[float, float] | None
) -> None:
    found = summarise("t", "m", given, repeats, bootstrap_iters=100)
    assert (found.value, found.ci95) == (
        pytest.approx(value),
        ci95 and pytest.approx(ci95),
    )


def of_files(**parts: list[float | None]) -> Scores:
    """Scores by the value of the label ``file``; None is an unscored trial."""
    found = Scores(range=(0, 1))
    for name, values in parts.items():
        for at, value in enumerate(values):
            score = Score.unscored("lost") if value is None else Score(value)
            found.add(f"{name}/{at}", 0, score, labels={"file": name})
    return found


def test_parts_of_different_size_count_the_same_with_the_standard_error_of_a_mean_of_means() -> (
    None
):
    uneven = of_files(zh=[1.0], de=[0.0, 0.0, 0.0])
    assert [macro_mean(uneven, by=label).value for label in ("file", "language")] == [
        0.5,
        0.25,
    ]
    assert macro_mean(of_files(zh=[None], de=[0.25, 0.75]), by="file").value == 0.5
    assert macro_mean(of_files(zh=[None]), by="file").value is None
    found = macro_mean(of_files(zh=[0.0, 1.0], de=[0.0, 0.5]), by="file")
    assert found.stderr == pytest.approx(math.hypot(0.5, 0.25) / 2)


STEPS = {"a": [1.0, 1.0, 0.0], "b": [0.0], "c": [1.0, 0.0, 0.0, 0.0, 1.0], "d": []}
"""The things behind the scores of four samples."""


def of_steps(*more: Score | Literal["failed"]) -> Scores:
    found = Scores(range=(0, 1))
    for name, steps in STEPS.items():
        found.add(name, 0, Score(sum(steps) / max(len(steps), 1), weight=len(steps)))
    for at, score in enumerate(more):
        found.add(f"more/{at}", 0, score)
    return found


def test_a_weighted_mean_is_the_mean_of_what_stands_behind_the_scores_with_samples_as_clusters() -> (
    None
):
    one_by_one = Scores(range=(0, 1))
    for name, steps in STEPS.items():
        for at, value in enumerate(steps):
            one_by_one.add_value(f"{name}/{at}", 0, value, cluster=name)
    found, expected = weighted_mean(of_steps().take([0, 1, 2])), mean(one_by_one)
    assert found.value == pytest.approx(4 / 9) == expected.value
    assert found.stderr == pytest.approx(expected.stderr)
    assert mean(of_steps()).value != found.value
    assert [row.weight for row in of_steps().drawn([[2], [0]])] == [5, 3]
    assert (
        weighted_mean(Scores()).value
        is weighted_mean(of_steps().take([3])).value
        is None
    )


@pytest.mark.parametrize(
    ("lost", "bounds"),
    [
        (Score.unscored("lost", weight=2), (4 / 11, 6 / 11)),
        (Score.lost("lost", bounds=(0.5, 1), weight=2), (5 / 11, 6 / 11)),
        ("failed", (4 / 14, 9 / 14)),
    ],
    ids=[
        "its own weight",
        "its own bounds",
        "a weight that nobody knows is the greatest",
    ],
)
def test_the_bounds_of_a_weighted_mean(
    lost: Score | Literal["failed"], bounds: tuple[float, float]
) -> None:
    found = summarise("t", "m", of_steps(lost), weighted_mean)
    assert (found.value, found.bounds) == (pytest.approx(4 / 9), pytest.approx(bounds))
