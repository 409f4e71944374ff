import math

import numpy as np
import pytest

from mmeval.metrics.three_d.edges import edges_of
from mmeval.metrics.three_d.surface import (
    angles_between,
    cross,
    faces_of,
    points_on,
    shape_quality,
)
from tests.support.shapes import LINE, cube, tetrahedra


def test_areas_and_normals_are_those_of_the_triangles_and_without_an_area_there_is_no_direction() -> (
    None
):
    found = faces_of(
        np.array([[0, 0, 0], [1, 0, 0], [0, 0.5, 0]]), np.array([[0, 1, 2], [0, 2, 1]])
    )
    assert found.areas.tolist() == [0.25, 0.25]
    assert found.squares.tolist() == [2.5, 2.5]
    assert found.normals.tolist() == [[0, 0, 1], [0, 0, -1]]
    one, two = np.random.default_rng(0).normal(size=(2, 9, 3))
    assert cross(one, two) == pytest.approx(np.cross(one, two))
    line = faces_of(*LINE)
    assert line.directed.tolist() == [False, True]
    assert angles_between(line.normals, np.array([[0, 1]])).tolist() == [math.pi / 2]
    points, faces = cube()
    angles = angles_between(
        faces_of(points, faces).normals, edges_of(faces, 8).neighbours
    )
    assert sorted(angles.tolist()) == [0] * 6 + [math.pi / 2] * 12


def test_points_lie_on_the_surface_and_an_equilateral_triangle_has_half_or_all_of_the_shape() -> (
    None
):
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], float)
    found = points_on(
        faces_of(corners, np.array([[0, 1, 2], [0, 2, 3], [0, 4, 4]])),
        4000,
        np.random.default_rng(0),
    )
    assert found[:, 2].tolist() == [0] * 4000
    assert ((found >= 0) & (found <= 1)).all()
    assert np.histogram2d(found[:, 0], found[:, 1], bins=4, range=[[0, 1]] * 2)[
        0
    ].ravel() == pytest.approx(250, abs=75)
    for constant, value in {
        2 * 3**0.5: 0.5,
        4 * 3**0.5: 1,
    }.items():  # of the release, and of equilateral ones
        assert shape_quality(
            faces_of(*tetrahedra((0, 0, 0))), constant
        ).tolist() == pytest.approx([value] * 4)
