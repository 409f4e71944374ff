from typing import Any

import numpy as np
import pytest

from mmeval.metrics.three_d import quality_3d as module
from mmeval.metrics.three_d.quality_3d import quality_3d
from tests.support.shapes import cube, off, plane_cloud, ply, shown, sphere_cloud, torus
from tests.support.trials import score_of, trial

SEAM = (
    b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\n"
    b"f 1/1 3/2 2/3\nf 1/2 2/1 4/3\nf 1/3 4/1 3/2\nf 2/1 3/2 4/3\n"
)
"""A closed solid with other places in its texture at each face."""
BROKEN = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"


def item(file: bytes, profile: str = "standard", **switches: Any) -> Any:
    return score_of(quality_3d, shown(file), profile, **switches).evidence["items"][0]


def quality(file: bytes, profile: str = "standard", **switches: Any) -> Any:
    """The quality of one item: a number, or None."""
    return item(file, profile, **switches)["quality"]


def test_the_value_is_the_mean_over_the_items_and_each_is_scored_alone() -> None:
    score = score_of(quality_3d, shown(off(cube()), ply(plane_cloud())))
    items = score.evidence["items"]
    assert [one["label"] for one in items] == ["3d1", "3d2"]
    assert score.value == pytest.approx(np.mean([one["quality"] for one in items]))
    assert items[0]["quality"] == quality(off(cube()))
    assert score_of(quality_3d, trial("only words")).status == "inapplicable"


@pytest.mark.parametrize(
    "file",
    [
        b"",
        BROKEN,
        off((np.full((3, 3), np.nan), np.array([[0, 1, 2]]))),
        ply(np.empty((0, 3))),
    ],
    ids=["no file", "no such vertex", "not a number", "empty"],
)
def test_what_cannot_be_read_is_zero_and_has_no_score_under_official(
    file: bytes,
) -> None:
    found = (
        quality(file),
        quality(file, "official"),
        quality(file, "official", unreadable="zero"),
    )
    assert found == (0, None, 0)


def test_vertices_at_one_place_are_one_unless_they_stay_apart_as_at_a_texture_seam(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert item(SEAM)["watertight"] is True
    assert item(SEAM)["T"] == 1
    assert item(SEAM, merge_vertices=False)["watertight"] is False
    assert item(SEAM, "official")["watertight"] is False
    faces = ply(*torus())
    alone = off((sphere_cloud(100), np.empty((0, 3), int)))
    points = ply(sphere_cloud(100))
    assert item(faces)["type"] == "mesh"
    assert item(faces, "official")["type"] == "pcd"
    assert item(alone)["type"] == "pcd"
    assert (
        quality(alone, "official") is None and quality(points, "official") is not None
    )
    same = ply(np.full((64, 3), 0.25))
    # merged they are one point
    assert quality(same) == 0
    assert quality(same, "official") == 0.79
    monkeypatch.setattr(module, "MAX_AT_ONE_PLACE", 5)
    assert quality(same) == 0
    assert quality(same, "official") is None
    assert quality(same, merge_vertices=False) is None


@pytest.mark.parametrize("count", [0, 7, 8, 12, 13, 31, 32, 33])
def test_under_official_a_search_for_neighbours_fails_for_some_counts(
    count: int,
) -> None:
    file = ply(sphere_cloud(count))
    assert (quality(file, "official") is None) == (count in (0, 8, 12, 32))
    assert (quality(file, "official", neighbours="present") is None) == (count == 0)
    assert quality(file) is not None


def test_vertices_without_a_face_and_faces_that_are_lines_count_only_where_they_are_kept() -> (
    None
):
    points, faces = cube()
    more = off((np.concatenate([points, np.eye(3)[[0] * 9] * 0.3]), faces))
    alone = item(off(cube()))["valence_variation"]
    assert item(more, merge_vertices=False)["valence_variation"] == pytest.approx(alone)
    # The median of 17 valences is 0, their mean 36 / 17.
    assert item(more, "official")["valence_variation"] == pytest.approx(
        1 - np.exp(-4 / (36 / 17))
    )
    lines = off((points, np.concatenate([faces, [[0, 1, 1], [3, 3, 3]]])))
    assert item(lines)["T"] == 1
    assert item(lines, degenerate="kept")["watertight"] is False
    assert quality(off((points, np.array([[0, 1, 1]])))) == 0
