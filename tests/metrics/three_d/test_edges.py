from __future__ import annotations

import numpy as np

from mmeval.metrics.three_d.edges import component_count, edges_of, valences
from tests.support.shapes import Indices, cube, tetrahedra, torus

FAN = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]])
"""Three faces at one edge."""


def test_two_faces_meet_at_every_edge_of_a_closed_mesh() -> None:
    points, faces = cube()
    edges = edges_of(faces, len(points))

    assert (len(edges.ends), len(edges.neighbours), edges.watertight) == (18, 18, True)


def test_without_one_face_it_is_open() -> None:
    points, faces = cube()
    edges = edges_of(faces[1:], len(points))

    assert (edges.watertight, edges.nonmanifold_share) == (False, 0)


def test_an_edge_of_three_faces_joins_none_of_them() -> None:
    edges = edges_of(FAN, 5)

    assert edges.nonmanifold_share == 1 / 7
    assert component_count(3, edges.neighbours) == 3


def test_a_face_is_not_its_own_neighbour() -> None:
    collapsed = edges_of(np.array([[0, 1, 1]]), 2)

    assert len(collapsed.neighbours) == 0


def test_parts_are_counted_whether_closed_or_not() -> None:
    points, faces = tetrahedra((0, 0, 0), (5, 0, 0), (0, 5, 0))
    edges = edges_of(faces[1:], len(points))

    assert component_count(len(faces) - 1, edges.neighbours) == 3


def test_a_valence_counts_other_ends_and_a_vertex_without_faces_has_none() -> None:
    assert valences(edges_of(FAN, 7).ends, 7).tolist() == [4, 4, 2, 2, 2, 0, 0]
    assert valences(edges_of(np.array([[0, 1, 1]]), 2).ends, 2).tolist() == [1, 2]


def test_the_order_of_faces_and_the_names_of_vertices_do_not_matter() -> None:
    points, faces = torus(8, 5)
    rng = np.random.default_rng(0)
    names = rng.permutation(len(points))

    assert _facts(names[rng.permutation(faces)], len(points)) == _facts(faces, len(points))


def test_vertices_of_any_number_are_told_apart() -> None:
    far = 2**28

    assert edges_of(FAN * far, 5 * far).counts.tolist() == edges_of(FAN, 5).counts.tolist()


def test_no_faces_have_no_edges() -> None:
    edges = edges_of(np.empty((0, 3), np.int64), 4)

    assert (edges.watertight, edges.nonmanifold_share, len(edges.neighbours)) == (False, 0, 0)


def _facts(faces: Indices, vertices: int) -> tuple[object, ...]:
    edges = edges_of(faces, vertices)
    return len(edges.ends), edges.watertight, sorted(edges.counts), component_count(len(faces), edges.neighbours)
