import numpy as np
import pytest

from mmeval.metrics.three_d.edges import component_count, edges_of, valences
from tests.support.shapes import FAN, Indices, cube, tetrahedra

NO_FACES = np.empty((0, 3), np.int64)


@pytest.mark.parametrize(
    ("faces", "vertices", "watertight", "shared", "neighbours"),
    [
        (cube()[1], 8, True, 0, 18),
        (cube()[1][1:], 8, False, 0, 15),
        (FAN, 5, False, 1 / 7, 0),  # an edge of three faces joins none of them
        (np.array([[0, 1, 1]]), 2, False, 0, 0),  # a face is not its own neighbour
        (NO_FACES, 4, False, 0, 0),
    ],
    ids=["closed", "without one face", "three at an edge", "collapsed", "none"],
)
def test_edges_and_their_faces(
    faces: Indices, vertices: int, watertight: bool, shared: float, neighbours: int
) -> None:
    edges = edges_of(faces, vertices)
    assert edges.watertight == watertight
    assert edges.nonmanifold_share == shared
    assert len(edges.neighbours) == neighbours


def test_parts_and_valences_are_counted() -> None:
    points, faces = tetrahedra((0, 0, 0), (5, 0, 0), (0, 5, 0))
    assert (
        component_count(len(faces) - 1, edges_of(faces[1:], len(points)).neighbours)
        == 3
    )
    assert component_count(3, edges_of(FAN, 5).neighbours) == 3
    assert valences(edges_of(FAN, 7).ends, 7).tolist() == [4, 4, 2, 2, 2, 0, 0]
    assert valences(edges_of(np.array([[0, 1, 1]]), 2).ends, 2).tolist() == [1, 2]
