import math

import numpy as np
import pytest

from mmeval.metrics.three_d import neighbourhoods
from mmeval.metrics.three_d.neighbourhoods import (
    intrinsic_dimension,
    neighbourhoods_of,
    scatter,
)
from tests.support.shapes import plane_cloud, sphere_cloud


def test_the_dimension_is_that_of_evenly_filled_space_between_one_and_five() -> None:
    dimensions = {
        (1, 1.2, 1.5): 2 / (math.log(1.5) + math.log(1.5 / 1.2)),
        (1, 1, 1): 5,
        (1, 2, math.inf): 1,
    }
    dimensions |= {(1, math.inf, math.inf): 1, (0, 0, 0): 5, (1, 9, 90): 1}
    found = intrinsic_dimension(np.array([*dimensions], float))
    assert found.tolist() == pytest.approx([*dimensions.values()])
    for filled in (1, 3):
        points = np.zeros((4000, 3))
        points[:, :filled] = np.random.default_rng(0).random((4000, filled))
        assert np.median(
            neighbourhoods_of(points, padded=False).dimension
        ) == pytest.approx(filled, abs=0.2)


def test_a_scatter_is_a_covariance_and_in_a_plane_nothing_scatters_across() -> None:
    points = np.random.default_rng(0).normal(size=(5, 9, 3))
    wanted = np.stack([np.cov(each.T, ddof=0) for each in points])
    assert scatter(points.transpose(2, 1, 0)) == pytest.approx(wanted)
    near = neighbourhoods_of(plane_cloud(), padded=False)
    assert near.across == pytest.approx(0)
    assert np.abs(near.normal[:, 2]) == pytest.approx(1)
    assert np.abs(near.bend) == pytest.approx(1)


def test_of_few_points_the_last_neighbour_is_infinitely_far_or_present(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far, present = (
        neighbourhoods_of(sphere_cloud(20), padded=padded) for padded in (True, False)
    )
    assert far.dimension.tolist() == [1] * 20
    assert (present.dimension > 1.2).mean() > 0.8
    assert np.isfinite(far.spacing).all()
    whole = neighbourhoods_of(sphere_cloud(), padded=False)
    monkeypatch.setattr(neighbourhoods, "_CHUNK", 70)
    assert all(
        map(np.array_equal, whole, neighbourhoods_of(sphere_cloud(), padded=False))
    )


def test_few_points_have_as_many_neighbours_as_there_are_and_none_is_its_own() -> None:
    for count in (3, 12, 400):
        near = neighbourhoods_of(sphere_cloud(count), padded=False)
        assert near.near.shape == (count, min(12, count - 1))
        assert all(np.isfinite(each).all() for each in near)
        assert not (near.near == np.arange(count)[:, None]).any()
        assert (near.nearest > 0).all()
