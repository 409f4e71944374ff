import numpy as np
import pytest

from mmeval.metrics.three_d import crossings
from mmeval.metrics.three_d.crossings import Crossings, crossing_share
from tests.support.shapes import Indices, Mesh, cube, joined, tetrahedra, torus, turned

FLAT = [[-1, -1, 0], [1, -1, 0], [0, 1, 0]]
TWO = np.array([[0, 1, 2], [3, 4, 5]])


def share(points: object, faces: Indices = TWO, seed: int = 0) -> Crossings:
    return crossing_share(
        np.array(points, float)[faces], faces, np.random.default_rng(seed)
    )


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
    ids=[
        "an edge through",
        "a corner through",
        "touching",
        "above",
        "beside",
        "in one plane",
        "a point",
    ],
)
def test_a_face_cuts_when_it_goes_through_another(
    other: list[list[float]], cut: float
) -> None:
    sides = FLAT + other, other + FLAT, turned(np.array(FLAT + other, float))
    assert [share(points).share for points in sides] == [cut] * 3


def test_every_pair_is_found_whatever_its_sizes_but_for_faces_that_share_a_corner() -> (
    None
):
    assert (
        share([*FLAT, [0, 0, -1], [0, 0.2, 1]], np.array([[0, 1, 2], [0, 3, 4]])).share
        == 0
    )
    assert [share(*mesh).share for mesh in (cube(), torus())] == [0, 0]
    places = np.random.default_rng(3).uniform(0.1, 0.9, (30, 3))
    places[:15, 0] = 0.995
    corners, sides = cube()
    points, faces = joined(
        cube(), *((corners * 0.02 + place, sides) for place in places)
    )
    # The share of faces that cut another one, when each is compared with every other.
    one, other = (side.ravel() for side in np.indices((len(faces), len(faces))))
    pairs = crossings._without_common_vertices(faces, crossings._Pairs(one, other))
    wanted = len(np.unique(pairs.first[crossings._cut(points[faces], pairs)])) / len(
        faces
    )
    assert wanted > 0.05
    assert share(points, faces, 0).share == pytest.approx(wanted)


def test_of_a_large_mesh_a_part_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossings, "MOST_FACES", 40)
    # A narrow triangle goes through half of a row of solids.
    across: Mesh = (
        np.array([[-1, 0.01, 0.02], [75.0, 0.01, 0.02], [0, 0.02, 0.03]]),
        np.array([[0, 1, 2]]),
    )
    found = share(
        *joined(tetrahedra(*[(3.0 * at, 0, 0) for at in range(50)]), across), 1
    )
    assert found.tested == 40
    assert 0 < found.share < 1
    monkeypatch.setattr(crossings, "MOST_PAIRS", 1000)
    found = share(
        np.random.default_rng(0).random((900, 3)), np.arange(900).reshape(-1, 3)
    )
    assert 0 < found.tested < 20
