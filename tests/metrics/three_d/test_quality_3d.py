from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmeval.metrics.three_d import quality_3d as module
from mmeval.metrics.three_d.quality_3d import quality_3d
from mmeval.records.score import Score
from tests.support import tiny_media as tiny
from tests.support.shapes import cube, joined, obj, off, plane_cloud, ply, shown, sphere_cloud, tetrahedra, torus
from tests.support.trials import score_of, trial

SEAM = (
    b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\n"
    b"f 1/1 3/2 2/3\nf 1/2 2/1 4/3\nf 1/3 4/1 3/2\nf 2/1 3/2 4/3\n"
)
"""A closed solid with other places in its texture at each face."""
BROKEN = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"


def first(score: Score) -> Any:
    return score.evidence["items"][0]


def quality(file: bytes, profile: str = "standard", **switches: Any) -> Any:
    """The quality of one item: a number, or None."""
    return first(score_of(quality_3d, shown(file), profile, **switches))["quality"]


def test_the_value_is_the_mean_over_the_items() -> None:
    score = score_of(quality_3d, shown(off(cube()), off(torus())))
    items = score.evidence["items"]

    assert [item["label"] for item in items] == ["3d1", "3d2"]
    assert score.value == pytest.approx((items[0]["quality"] + items[1]["quality"]) / 2)


@pytest.mark.parametrize(("combination", "weights"), [("released", (0.3, 0.4, 0.3)), ("paper", (1 / 3,) * 3)])
def test_an_item_is_the_weighted_sum_of_its_terms(combination: str, weights: tuple[float, ...]) -> None:
    item = first(score_of(quality_3d, shown(off(torus())), combination=combination))

    assert item["quality"] == pytest.approx(np.dot(weights, [item[name] for name in "TGS"]))


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    "file",
    [off(cube()), obj(cube()), tiny.binary_stl(4), tiny.glb(), ply(*cube()), ply(sphere_cloud(40)), SEAM],
    ids=["off", "obj", "stl", "glb", "ply mesh", "ply cloud", "seam"],
)
def test_every_format_has_a_quality_and_the_same_one_again(file: bytes, profile: str) -> None:
    found = quality(file, profile)

    assert found is None or 0 <= found <= 1
    score_of(quality_3d, shown(off(torus())), profile)
    assert quality(file, profile) == found


def test_an_answer_without_a_3d_item_is_inapplicable() -> None:
    assert score_of(quality_3d, trial("only words")).status == "inapplicable"


@pytest.mark.parametrize(
    "file",
    [b"", BROKEN, off((np.full((3, 3), np.nan), np.array([[0, 1, 2]]))), ply(np.empty((0, 3)))],
    ids=["no file", "a vertex that is not there", "not a number", "empty"],
)
def test_what_cannot_be_read_is_zero_and_has_no_score_under_official(file: bytes) -> None:
    assert quality(file) == 0
    assert quality(file, "official") is None
    assert quality(file, "official", unreadable="zero") == 0


def test_above_a_limit_there_is_no_score_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_AT_ONE_PLACE", 5)
    same = ply(np.zeros((40, 3)))

    assert quality(same) == 0  # they are one point
    assert quality(same, "official") is None
    assert quality(same, merge_vertices=False) is None


def test_a_texture_seam_opens_a_mesh_only_where_vertices_stay_apart() -> None:
    item = first(score_of(quality_3d, shown(SEAM)))

    assert (item["watertight"], item["T"]) == (True, 1)
    assert first(score_of(quality_3d, shown(SEAM), merge_vertices=False))["watertight"] is False
    assert first(score_of(quality_3d, shown(SEAM), "official"))["watertight"] is False


def test_a_ply_file_with_faces_is_a_cloud_only_under_official() -> None:
    assert first(score_of(quality_3d, shown(ply(*torus()))))["type"] == "mesh"
    assert first(score_of(quality_3d, shown(ply(*torus())), "official"))["type"] == "pcd"


def test_vertices_alone_are_a_cloud_and_have_no_score_under_official_unless_ply() -> None:
    points = sphere_cloud(100)
    alone = off((points, np.empty((0, 3), int)))

    assert first(score_of(quality_3d, shown(alone)))["type"] == "pcd"
    assert quality(alone, "official") is None
    assert quality(ply(points), "official") is not None


@pytest.mark.parametrize("count", [0, 7, 8, 12, 13, 31, 32, 33])
def test_under_official_a_search_for_neighbours_fails_for_some_counts(count: int) -> None:
    fails = count in (0, 8, 12, 32)

    assert (quality(ply(sphere_cloud(count)), "official") is None) == fails
    assert (quality(ply(sphere_cloud(count)), "official", neighbours="present") is None) == (count == 0)
    assert quality(ply(sphere_cloud(count))) is not None


def test_with_twenty_points_the_last_neighbour_is_infinitely_far_only_under_official() -> None:
    twenty = shown(ply(sphere_cloud(20)))

    assert first(score_of(quality_3d, twenty, "official"))["intrinsic_dim"] == 1
    assert first(score_of(quality_3d, twenty))["intrinsic_dim"] > 1.3


def test_sixty_four_points_at_one_place_have_seventy_nine_under_official_and_nothing_else() -> None:
    same = ply(np.full((64, 3), 0.25))

    assert (quality(same, "official"), quality(same)) == (0.79, 0)


def test_a_vertex_that_no_face_names_lowers_sampling_only_where_it_is_kept() -> None:
    points, faces = cube()
    more = off((np.concatenate([points, np.eye(3)[[0] * 9] * 0.3]), faces))

    assert first(score_of(quality_3d, shown(more), merge_vertices=False))["valence_variation"] == pytest.approx(
        first(score_of(quality_3d, shown(off(cube()))))["valence_variation"]
    )
    kept = first(score_of(quality_3d, shown(more), "official"))["valence_variation"]
    assert kept == pytest.approx(1 - np.exp(-4 / (36 / 17)))  # the median of 17 valences is 0, their mean 36 / 17


def test_faces_that_are_lines_are_no_part_of_the_surface() -> None:
    points, faces = cube()
    more = off((points, np.concatenate([faces, [[0, 1, 1], [3, 3, 3]]])))

    assert first(score_of(quality_3d, shown(more)))["T"] == 1
    assert first(score_of(quality_3d, shown(more), degenerate="kept"))["watertight"] is False
    assert quality(off((points, np.array([[0, 1, 1]])))) == 0


def test_a_score_has_two_places_of_a_hundred_only_where_it_is_rounded() -> None:
    official, exact = quality(off(torus()), "official"), quality(off(torus()), "official", rounding="none")

    assert (official, abs(official - exact) <= 5e-5, official != exact) == (round(exact, 4), True, True)


def test_the_score_of_a_file_does_not_depend_on_its_neighbours() -> None:
    alone = quality(off(torus()))
    among = score_of(quality_3d, shown(off(cube()), ply(plane_cloud()), off(torus()))).evidence["items"][2]["quality"]

    assert among == alone


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_hole_lowers_topology(profile: str) -> None:
    points, faces = torus()
    whole, open_ = (first(score_of(quality_3d, shown(off((points, some))), profile)) for some in (faces, faces[4:]))

    assert open_["T"] == pytest.approx(whole["T"] - 0.35)
    assert open_["quality"] < whole["quality"]


def test_solids_that_cut_each_other_lose_topology_only_in_standard() -> None:
    cut = off(joined(tetrahedra((0, 0, 0)), tetrahedra((0.31, 0.17, 0.08))))

    assert first(score_of(quality_3d, shown(cut)))["crossing_share"] >= 0.5
    assert first(score_of(quality_3d, shown(cut), "official"))["T"] == pytest.approx(1 - 0.2 / 3)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("seed", range(15))
def test_any_file_has_a_quality_in_range_or_none(seed: int, profile: str) -> None:
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(12, 3)) * seed) * 10.0 ** rng.integers(-30, 30)
    points[rng.random(12) < 0.02 * seed] = rng.choice([np.nan, np.inf, 0.0])
    faces = rng.integers(0, 12 + seed // 8, (rng.integers(1, 20), 3))

    found = [quality(file, profile) for file in (off((points, faces)), ply(points, faces), ply(points))]

    assert all(each is None or 0 <= each <= 1 for each in found)
    assert profile == "official" or None not in found
