import numpy as np
import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media import Media
from mmeval.metrics.three_d import geometry
from mmeval.metrics.three_d import geometry as of
from mmeval.metrics.three_d.geometry import Geometry, Ply, geometry_of
from tests.support.shapes import cube, obj, off, ply

NO_FACES = np.empty((0, 3), np.int64)


def test_a_ply_file_may_always_be_a_cloud_and_one_without_vertices_is_damaged() -> None:
    kinds: list[tuple[bytes, Ply, int]] = [
        (ply(*cube()), "stored", 12),
        (ply(*cube()), "cloud", 0),
    ]
    for file, kind, faces in [*kinds, (off(cube()), "cloud", 12)]:
        assert len(geometry_of(Media.from_bytes(file), kind).faces) == faces
    assert (
        geometry_of(Media.from_bytes(obj(cube())), "stored").points.tolist()
        == cube()[0].tolist()
    )
    with pytest.raises(CorruptMediaError):
        geometry_of(Media.from_bytes(ply(np.empty((0, 3)))), "stored")


@pytest.mark.parametrize(
    ("limit", "name", "data"),
    [
        ("MAX_FACES", "max_mesh_faces = 7", off(cube())),
        ("MAX_POINTS", "max_points = 7", ply(cube()[0])),
    ],
)
def test_a_file_above_a_limit_is_refused(
    limit: str, name: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geometry, limit, 7)
    with pytest.raises(MediaLimitError, match=name):
        geometry_of(Media.from_bytes(data), "stored")


def test_the_box_of_the_points_that_faces_name_has_a_largest_side_of_one() -> None:
    found = of.of_size_one(Geometry(np.array([[1.0, 2, 3], [5, 4, 3]]), NO_FACES))
    assert found.points.tolist() == [[-0.5, -0.25, 0], [0.5, 0.25, 0]]
    for numbers in ((7, 7), (-1.7e308, 1.7e308), (0, 1e-300)):
        found = of.of_size_one(
            Geometry(np.repeat(np.array(numbers, float), 3).reshape(2, 3), NO_FACES)
        )
        assert np.abs(found.points).max() in (0, 0.5)
    points = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1e300, 0, 0], [0, 1e308, 0]], float
    )
    found = of.without_dangling(
        of.of_size_one(Geometry(points / 1e10, np.array([[0, 1, 2]])))
    )
    assert found.points.tolist() == [[-0.5, -0.5, 0], [0.5, -0.5, 0], [-0.5, 0.5, 0]]
    assert found.faces.tolist() == [[0, 1, 2]]
    cloud = Geometry(np.eye(3), NO_FACES)
    assert of.without_dangling(cloud) is cloud


def test_points_at_one_place_are_one_and_a_face_with_one_corner_twice_is_dropped() -> (
    None
):
    points = np.array(
        [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, 0, 0], [1, 0, 0], [1, 1, 0]]
    )
    found = of.merged(Geometry(points, np.array([[0, 1, 2], [3, 4, 5]])))
    assert len(found.points) == 4
    assert of.most_at_one_place(points) == 2
    assert found.points[found.faces].tolist() == points[[[0, 1, 2], [3, 4, 5]]].tolist()
    faces = np.array([[0, 1, 2], [0, 1, 1], [2, 1, 2], [0, 0, 1]])
    assert of.without_collapsed(Geometry(np.zeros((3, 3)), faces)).faces.tolist() == [
        [0, 1, 2]
    ]
