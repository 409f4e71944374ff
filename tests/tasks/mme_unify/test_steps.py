import pytest

from mmeval.aggregate.scores import Scores
from mmeval.records import Score
from mmeval.tasks.mme_unify.steps import steps


def mazes(*right: tuple[float, int]) -> Scores:
    scores = Scores(range=(0, 1))
    for number, (share, count) in enumerate(right):
        scores.add(str(number), 0, Score(share, weight=count))
    return scores


def test_the_steps_of_all_mazes_count_the_same_and_officially_as_if_all_were_as_long_as_the_longest() -> (
    None
):
    found = mazes((1 / 3, 3), (3 / 4, 4), (1, 3))
    assert steps(found).value == pytest.approx(7 / 10)
    official = steps(found, profile="official")
    assert official.value == pytest.approx(7 / 12)
    # The error of the mean of 1/4, 3/4 and 3/4.
    assert official.stderr == pytest.approx(1 / 6)
    assert [
        steps(mazes(), profile=profile).value for profile in ("standard", "official")
    ] == [None, None]


def test_a_maze_that_is_lost_stands_in_no_mean_and_in_the_bounds() -> None:
    found = mazes((1, 2))
    found.add("lost", 0, "failed")
    assert [
        steps(found, profile="official").value,
        steps(found.filled(0), profile="official").value,
    ] == [1, 0.5]
