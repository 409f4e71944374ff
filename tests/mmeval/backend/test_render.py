from typing import Any

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray

from mmeval.backend import render as module
from mmeval.backend.render import MARGIN, SIDE, render
from mmeval.media.decode import MeshArrays, image

REACH = SIDE - 2 * MARGIN  # pixels of the longest side
Pixels = NDArray[Any]


def arrays(solid: Any) -> MeshArrays:
    return MeshArrays(
        np.asarray(solid.vertices, np.float64), np.asarray(solid.faces, np.int64)
    )


def triangle(*places: tuple[float, float, float]) -> MeshArrays:
    return MeshArrays(np.array(places, np.float64), np.array([[0, 1, 2]]))


def cloud(places: Any) -> MeshArrays:
    return MeshArrays(np.array(places, np.float64), np.empty((0, 3), np.int64))


def views(geometry: MeshArrays) -> list[Pixels]:
    """The three views: rows of pixels, the first row on top."""
    whole = np.asarray(image(render(geometry).picture).convert("RGB")).astype(int)
    assert whole.shape == (SIDE, 3 * SIDE + 2, 3)
    return [whole[:, start : start + SIDE] for start in (0, SIDE + 1, 2 * SIDE + 2)]


def drawn(view: Pixels) -> Pixels:
    found: Pixels = (view != 255).any(axis=-1)
    return found


def across(seen: Pixels, axis: int) -> Pixels:
    """The rows (1) or columns (0) in which something is drawn."""
    found: Pixels = np.flatnonzero(seen.any(axis=axis))
    return found


def box(*extents: float, at: Any = (0, 0, 0)) -> Any:
    solid: Any = trimesh.creation.box(extents)
    solid.apply_translation(at)
    return solid


def together(*solids: Any) -> MeshArrays:
    return arrays(trimesh.util.concatenate(solids))


def test_the_silhouettes_of_a_box_have_its_proportions() -> None:
    shares = [drawn(view).sum() / REACH**2 for view in views(arrays(box(2, 1, 0.5)))]
    assert shares == pytest.approx([1 / 2, 1 / 4, 1 / 8], rel=0.03)


def test_no_view_is_mirrored_or_upside_down() -> None:
    far_along = together(
        box(1, 1, 1), box(0.4, 0.2, 0.2, at=(2, 0, 0)), box(0.2, 0.2, 0.4, at=(0, 0, 2))
    )
    along_z, along_y, along_x = map(drawn, views(far_along))
    assert across(along_z, 0).max() > SIDE - MARGIN - 3, "x goes to the right"
    assert across(along_y[: SIDE // 2], 1).min() < MARGIN + 3, "z goes up"
    assert along_y[:, SIDE - MARGIN - 6].any()
    assert across(along_x[: SIDE // 2], 1).min() < MARGIN + 3
    along_z, _, along_x = map(
        drawn, views(together(box(1, 1, 1), box(0.2, 0.4, 0.2, at=(0, 2, 0))))
    )
    rows, columns = across(along_z, 1), across(along_x, 0)
    assert along_z[rows.min() + 3].sum() < along_z[rows.max() - 3].sum(), (
        "y goes up along z"
    )
    assert along_x[:, columns.max() - 3].sum() < along_x[:, columns.min() + 3].sum(), (
        "and to the right along x"
    )


@pytest.mark.parametrize(
    ("view", "axis", "sign"), [(0, 2, 1), (1, 1, -1), (2, 0, 1)], ids=["z", "y", "x"]
)
def test_what_is_nearer_is_lighter_and_hides_what_is_behind(
    view: int, axis: int, sign: int
) -> None:
    near = np.zeros(3)
    near[axis] = sign
    shown = views(together(box(1, 1, 1, at=-near), box(0.4, 0.4, 0.4, at=near)))[view]
    edge = drawn(shown)[SIDE // 2].nonzero()[0].min() + 3
    assert shown[SIDE // 2, SIDE // 2].sum() > shown[SIDE // 2, edge].sum() + 60


def test_a_ball_has_no_holes_and_faces_that_are_turned_away_are_darker() -> None:
    shown = views(arrays(trimesh.creation.icosphere(4)))[0]
    down, right = np.indices(shown.shape[:2]) + 0.5 - SIDE / 2
    assert drawn(shown)[np.hypot(down, right) < REACH / 2 - 2].all()
    middle, rim = shown[SIDE // 2, SIDE // 2].max(), shown[SIDE // 2, MARGIN + 3].max()
    assert (middle, rim) == (pytest.approx(250, abs=5), pytest.approx(95, abs=30)), (
        "by its depth alone it would be 200"
    )


def test_the_size_and_the_place_of_an_object_do_not_matter() -> None:
    solid = trimesh.creation.torus(1, 0.25, major_sections=16, minor_sections=8)
    still = render(arrays(solid)).picture
    assert render(arrays(solid)).picture == still
    solid.apply_scale(64.0)
    solid.apply_translation((512, -1024, 0))
    assert (
        np.asarray(image(still)) != np.asarray(image(render(arrays(solid)).picture))
    ).mean() < 0.001


def test_a_cloud_is_drawn_as_points_and_a_large_one_thinned_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    three = cloud([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    assert render(three).about == "three views of 3 points"
    assert drawn(views(three)[0]).sum() == 27, "three pixels each way"
    monkeypatch.setattr(module, "MAX_POINTS", 100)
    assert (
        "84 of 250 points"
        in render(cloud(np.random.default_rng(0).normal(size=(250, 3)))).about
    )


@pytest.mark.parametrize("limit", ["MAX_FACES", "MAX_TESTS"])
def test_a_mesh_that_would_take_long_is_drawn_as_its_vertices(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, 10)
    ball = arrays(trimesh.creation.icosphere(3))
    about = render(ball).about
    assert ("642 points" in about, "1,280 faces" in about) == (True, True)
    assert drawn(views(ball)[0]).sum() > 642


def test_what_has_no_extent_is_a_dot_in_the_middle_and_what_has_no_area_a_line() -> (
    None
):
    for view in views(triangle(*[(7, 7, 7)] * 3)):
        assert drawn(view).nonzero()[0].tolist() == [SIDE // 2]
    assert 1 <= drawn(views(triangle((0, 0, 0), (1, 0, 0), (2, 0, 0)))[0]).sum() <= 3


@pytest.mark.parametrize("size", [1e308, 1e-300])
def test_numbers_at_the_end_of_the_range_are_drawn(size: float) -> None:
    found = drawn(views(triangle((-size, 0, 0), (size, 0, 0), (0, size, 0)))[0]).sum()
    assert found == pytest.approx(REACH**2 / 4, rel=0.02)
