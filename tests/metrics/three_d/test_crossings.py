from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.three_d import crossings
from mmeval.metrics.three_d.crossings import Crossings, crossing_share
from tests.support.shapes import Indices, Mesh, Numbers, cube, joined, tetrahedra, torus, turned

FLAT = [[-1, -1, 0], [1, -1, 0], [0, 1, 0]]
TWO = np.array([[0, 1, 2], [3, 4, 5]])


def share(points: object, faces: Indices = TWO, seed: int = 0) -> Crossings:
    return crossing_share(np.array(points, float)[faces], faces, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("other", "cut"),
    [
        ([[0, 0, -1], [0, 0, 1], [0, 3, 0.5]], 1),
        ([[0, 0, -1], [0.1, 0, -1], [0, 0.1, 1]], 1),
        ([[0, 0, 0], [0, 0, 1], [0, 1, 1]], 0),
        ([[0, 0, 0.01], [0, 0, 1], [0, 1, 1]], 0),
        ([[0, 3, -1], [0, 3, 1], [0, 4, 0.5]], 0),
        ([[-1, 0, 0], [1, 0, 0], [0, 0.5, 0]], 0),
        ([[0, 0, 0]] * 3, 0),
    ],
    ids=["an edge through", "a corner through", "touching", "above", "beside", "in one plane", "a point"],
)
def test_a_face_cuts_when_it_goes_through_another(other: list[list[float]], cut: float) -> None:
    assert share(FLAT + other).share == cut
    assert share(other + FLAT).share == cut
    assert share(turned(np.array(FLAT + other, float))).share == cut


def test_faces_that_share_a_corner_are_not_compared() -> None:
    points = [*FLAT, [0, 0, -1], [0, 0.2, 1]]

    assert share(points, np.array([[0, 1, 2], [0, 3, 4]])).share == 0


@pytest.mark.parametrize("mesh", [cube(), torus()], ids=["cube", "torus"])
def test_a_sound_solid_has_no_cuts(mesh: Mesh) -> None:
    points, faces = mesh

    assert share(points, faces).share == 0


def test_every_pair_is_found_whatever_their_sizes() -> None:
    small = [(points * 0.02 + place, faces) for place, (points, faces) in zip(_places(), [cube()] * 30, strict=True)]
    points, faces = joined(cube(), *small)

    wanted = _by_all_pairs(points, faces)
    assert wanted > 0.05
    assert share(points, faces, 0).share == pytest.approx(wanted)


def test_a_large_mesh_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossings, "MOST_FACES", 40)
    points, faces = joined(tetrahedra(*[(3.0 * at, 0, 0) for at in range(50)]), _across(50))
    found = share(points, faces, 1)

    assert found.looked_at == 40
    assert 0 < found.share < 1


def test_a_mesh_of_countless_pairs_is_looked_at_in_smaller_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossings, "MOST_PAIRS", 1000)
    points = np.random.default_rng(0).random((900, 3))

    found = share(points, np.arange(900).reshape(-1, 3))

    assert 0 < found.looked_at < 20


def _places() -> Numbers:
    """Points about a cube of side 1, some on its faces."""
    places = np.random.default_rng(3).uniform(0.1, 0.9, (30, 3))
    places[:15, 0] = 0.995
    return places


def _across(count: int) -> Mesh:
    """A narrow triangle through half of a row of solids."""
    return np.array([[-1, 0.01, 0.02], [1.5 * count, 0.01, 0.02], [0, 0.02, 0.03]]), np.array([[0, 1, 2]])


def _by_all_pairs(points: Numbers, faces: Indices) -> float:
    """The share of faces that cut another one, when each is held against every other."""
    one, other = (side.ravel() for side in np.indices((len(faces), len(faces))))
    pairs = crossings._without_common_vertices(faces, crossings._Pairs(one, other))
    return len(np.unique(pairs.one[crossings._cut(points[faces], pairs)])) / len(faces)
