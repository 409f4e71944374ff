import math

import numpy as np
import pytest

from mmeval.metrics.three_d.mesh_terms import MeshRules, _spacing, mesh_terms
from mmeval.metrics.three_d.spread import Terms
from tests.support.shapes import FAN, LINE, Mesh, cube, joined, tetrahedra, torus

MENDED = MeshRules(defects="counted", triangles="equilateral", degenerate="dropped")
RELEASED = MeshRules(defects="dead", triangles="released", degenerate="kept")
OPEN = cube()[0], cube()[1][1:]
THREE_AT_AN_EDGE = (
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]]) / 2,
    FAN,
)
CUT = (
    np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1], [0, 3, 0.5]])
    / 4,
    np.array([[0, 1, 2], [3, 4, 5]]),
)
"""Two faces that cut each other."""
TRIANGLE = (
    np.array([[0, 0, 0], [1, 0, 0], [0.5, math.sqrt(0.75), 0]]),
    np.array([[0, 1, 2]]),
)


def terms(mesh: Mesh, rules: MeshRules = MENDED) -> Terms:
    points, faces = mesh
    moved = points - (points.max(axis=0) + points.min(axis=0)) / 2
    return mesh_terms(
        moved / np.ptp(moved, axis=0).max(), faces, rules, np.random.default_rng(0)
    )


def test_topology_counts_holes_edges_cuts_and_parts() -> None:
    two = joined(cube(), (cube()[0] + 2, cube()[1]))
    four = tetrahedra(*[(3 * at, 0, 0) for at in range(4)])
    for mesh, topology in ((cube(), 1), (OPEN, 0.65), (two, 1 - 0.2 / 3), (four, 0.8)):
        assert (terms(mesh).topology, terms(mesh, RELEASED).topology) == pytest.approx(
            (topology, topology)
        )
    found = [
        terms(mesh, rules).topology
        for mesh in (THREE_AT_AN_EDGE, CUT)
        for rules in (MENDED, RELEASED)
    ]
    edges, cuts = 0.25 * 6 / 7 + 0.2 + 0.2 / 3, 0.25 + 0.2 * 2 / 3
    assert found == pytest.approx([edges, 0.45 + 0.2 / 3, cuts, 0.45 + 0.2 * 2 / 3])


@pytest.mark.parametrize(
    ("mesh", "mended"),
    [
        (tetrahedra((0, 0, 0)), 0.7),
        (cube(), 0.4 / math.e + 0.3 / 3 + 0.3 * math.sqrt(3) / 2),
        (TRIANGLE, 1),
    ],
    ids=["tetrahedron", "cube", "one triangle"],
)
def test_geometry_counts_angles_and_the_shape_of_triangles(
    mesh: Mesh, mended: float
) -> None:
    shape = terms(mesh).evidence["triangle_quality"]
    found = terms(mesh).geometry, terms(mesh, RELEASED).geometry
    assert found == pytest.approx((mended, mended - 0.3 * shape / 2))


def test_sampling_is_a_weighted_sum_and_faces_without_an_area_count_as_the_rules_say() -> (
    None
):
    found = terms(torus())
    parts = {
        "area_variation": 0.4,
        "valence_variation": 0.25,
        "knn_variation": 0.2,
        "outlier_ratio": 0.15,
    }
    assert found.sampling == pytest.approx(
        sum(weight * (1 - found.evidence[name]) for name, weight in parts.items())
    )
    assert (
        0.2 < found.evidence["knn_variation"] < 0.3
        and 0 < found.evidence["outlier_ratio"] < 0.03
    )
    points = np.random.default_rng(0).random((30, 3))
    apart = np.sort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)
    assert _spacing(points) == pytest.approx(apart[:, 1:9].mean(axis=1))
    # An angle at one is sharp only where such faces are kept.
    assert [
        terms(LINE, rules).evidence["sharp_ratio"] for rules in (MENDED, RELEASED)
    ] == [0, 1]
    line = (
        np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0]]),
        np.array([[0, 1, 2], [0, 2, 1]]),
    )
    found = terms(line)
    assert found.topology == 0
    assert found.geometry == 0
    assert found.sampling == 0
    assert terms(line, RELEASED).geometry > 0
