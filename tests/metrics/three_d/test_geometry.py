from __future__ import annotations

import numpy as np
import pytest

from mmeval.content.media import Media
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.metrics.three_d import geometry
from mmeval.metrics.three_d.geometry import (
    Geometry,
    geometry_of,
    merged,
    most_at_one_place,
    of_size_one,
    without_collapsed,
    without_dangling,
)
from tests.support.shapes import cube, obj, off, ply

NO_FACES = np.empty((0, 3), np.int64)


def test_a_ply_file_is_what_it_holds_or_always_a_cloud() -> None:
    media = Media.from_bytes(ply(*cube()))

    assert (len(geometry_of(media, "stored").faces), len(geometry_of(media, "cloud").faces)) == (12, 0)


def test_other_files_are_meshes_either_way() -> None:
    media = Media.from_bytes(off(cube()))

    assert len(geometry_of(media, "cloud").faces) == 12


def test_a_file_without_vertices_is_damaged() -> None:
    with pytest.raises(CorruptMediaError):
        geometry_of(Media.from_bytes(ply(np.empty((0, 3)))), "stored")


@pytest.mark.parametrize(("limit", "data"), [("MAX_FACES", off(cube())), ("MAX_POINTS", ply(cube()[0]))])
def test_a_file_above_a_limit_is_refused(limit: str, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, limit, 7)

    with pytest.raises(MediaLimitError, match=r"above the limit max_(mesh_faces|points) = 7"):
        geometry_of(Media.from_bytes(data), "stored")


def test_the_limits_are_those_of_the_documentation() -> None:
    limits = geometry.LIMITS

    assert (limits.max_mesh_faces, limits.max_mesh_vertices) == (1_000_000, 2_000_000)
    assert (geometry.MAX_FACES, geometry.MAX_POINTS, geometry.MAX_AT_ONE_PLACE) == (1_000_000, 500_000, 10_000)


def test_the_box_has_the_origin_in_its_middle_and_a_largest_side_of_one() -> None:
    found = of_size_one(Geometry(np.array([[1.0, 2, 3], [5, 4, 3]]), NO_FACES))

    assert found.points.tolist() == [[-0.5, -0.25, 0], [0.5, 0.25, 0]]


@pytest.mark.parametrize("numbers", [(0, 0), (7, 7), (-1.7e308, 1.7e308), (0, 1e-300)])
def test_any_numbers_become_some(numbers: tuple[float, float]) -> None:
    found = of_size_one(Geometry(np.repeat(np.array(numbers, float), 3).reshape(2, 3), NO_FACES))

    assert np.abs(found.points).max() in (0, 0.5)


def test_points_that_no_face_names_do_not_count_for_the_box() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1e300, 0, 0], [0, 1e308, 0]], float)
    found = without_dangling(of_size_one(Geometry(points / 1e10, np.array([[0, 1, 2]]))))

    assert found.points.tolist() == [[-0.5, -0.5, 0], [0.5, -0.5, 0], [-0.5, 0.5, 0]]
    assert found.faces.tolist() == [[0, 1, 2]]


def test_points_at_one_place_are_one() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
    found = merged(Geometry(points, np.array([[0, 1, 2], [3, 4, 5]])))

    assert len(found.points) == 4
    assert found.points[found.faces].tolist() == points[[[0, 1, 2], [3, 4, 5]]].tolist()
    assert most_at_one_place(points) == 2


def test_a_face_with_one_corner_twice_is_dropped() -> None:
    faces = np.array([[0, 1, 2], [0, 1, 1], [2, 1, 2], [0, 0, 1]])

    assert without_collapsed(Geometry(np.zeros((3, 3)), faces)).faces.tolist() == [[0, 1, 2]]


def test_a_cloud_keeps_its_points() -> None:
    cloud = Geometry(np.eye(3), NO_FACES)

    assert without_dangling(cloud) is cloud


def test_vertices_of_an_obj_are_read_as_written() -> None:
    assert geometry_of(Media.from_bytes(obj(cube())), "stored").points.tolist() == cube()[0].tolist()
