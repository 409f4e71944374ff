import numpy as np
import pytest
from scipy.linalg import sqrtm

from mmeval.tasks.mme_unify.video import (
    even_indices,
    feature_distance,
    usable,
    video_score,
)


def test_a_distance_is_worth_what_the_line_gives_and_is_not_cut() -> None:
    assert video_score([1.0, 1000.0, 161.74]) == [1, 0, pytest.approx(0.8391, abs=5e-5)]
    assert video_score([0.0, 1999.0]) == [pytest.approx(1000 / 999), -1]
    assert video_score([]) == video_score([], equal_means_100=True) == []


def test_equal_distances_are_worth_one_only_where_that_is_asked() -> None:
    assert video_score([700.0]) == [pytest.approx(300 / 999)]
    assert video_score([700.0], equal_means_100=True) == [1]
    assert video_score([700.0, 700.0], equal_means_100=True) == [1, 1]
    assert video_score([700.0, 1.0], equal_means_100=True) == [
        pytest.approx(300 / 999),
        1,
    ]


def test_with_a_single_row_it_is_the_squared_distance_of_the_means() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(1, 6)), rng.normal(size=(5, 6))
    for pair in ((one, one + 1), (one, other), (other, one)):
        first, second = (side.mean(0) for side in pair)
        assert feature_distance(*pair) == pytest.approx(((first - second) ** 2).sum())
    assert feature_distance(one, one + 1) == pytest.approx(6)


@pytest.mark.parametrize("rows", [(40, 50), (3, 4)])
def test_with_more_rows_it_is_the_distance_of_frechet(rows: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=(rows[0], 6)), rng.normal(1, 2, size=(rows[1], 6))
    covariances = [np.cov(side, rowvar=False) for side in (one, other)]
    root = sqrtm(covariances[0] @ covariances[1]).real
    expected = ((one.mean(0) - other.mean(0)) ** 2).sum() + np.trace(
        covariances[0] + covariances[1] - 2 * root
    )
    assert feature_distance(one.tolist(), other.tolist()) == pytest.approx(
        expected, abs=1e-5
    )
    assert feature_distance(one.tolist(), one.tolist()) == pytest.approx(0, abs=1e-9)


def test_even_indices_go_from_the_first_to_the_last_and_repeat_themselves_where_frames_are_few() -> (
    None
):
    assert even_indices(0, 16) == []
    assert even_indices(1, 6) == [0] * 6
    assert even_indices(5, 8) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert (even_indices(100, 16)[:4], even_indices(100, 16)[-1]) == (
        [0, 6, 13, 19],
        99,
    )
    assert even_indices(7, 1) == [0]


@pytest.mark.parametrize(
    ("change", "text", "picture"),
    [
        ({}, True, True),
        ({"Text_Prompt": ""}, True, True),
        ({"output": ""}, False, False),
        ({"data": {"image": "a"}}, True, False),
        ({"data": {"video": "b"}}, False, False),
        ({"data": None}, False, False),
    ],
)
def test_a_row_is_scored_that_has_what_its_task_needs(
    change: dict[str, object], text: bool, picture: bool
) -> None:
    row = {
        "Text_Prompt": "t",
        "data": {"image": "a", "video": "b"},
        "output": "x",
        **change,
    }
    assert {usable(row, task) for task in ("tvg", "TVG", "mme_unify_tvg")} == {text}
    assert {usable(row, task) for task in ("civg", "VP", "mme_unify_vp")} == {picture}
    without = {key: value for key, value in row.items() if key != "Text_Prompt"}
    assert not usable(without, "tvg")
