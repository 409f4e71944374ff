import math

import pytest

from mmeval.aggregate.aggregators import macro_mean
from mmeval.aggregate.scores import Scores, load_aggregator
from mmeval.aggregate.summary import summarise
from mmeval.records.score import Score


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
