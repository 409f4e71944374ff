from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media import Media
from mmeval.media.decode import DecodeLimits
from mmeval.metrics.video import views
from mmeval.metrics.video.views import (
    SIDE,
    fragments,
    frame_numbers,
    normalised,
    resized,
    views_of,
)
from tests.support.tiny_media import clip, sound_clip

CORNER, END = np.zeros((2, 7, 7)), np.full((2, 7, 7), 0.999999)
"""Where fragments lie in their cells: as far up and left, and as far down and right, as
they can."""


def numbers(count: int, *, stretches: int, length: int, seed: int = 0) -> Sequence[int]:
    rng = np.random.default_rng(seed)
    found: list[int] = frame_numbers(
        count, stretches=stretches, length=length, rng=rng
    ).tolist()
    return found


def places(height: int, width: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A picture whose pixels hold their place: red the row, green the column, in steps
    of four."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows // 4, columns // 4, np.zeros_like(rows)], axis=2).astype(
        np.uint8
    )


def test_a_clip_has_32_frames_of_its_third_or_one_of_each_stretch_and_begins_again_when_too_short() -> (
    None
):
    found = numbers(600, stretches=3, length=32)
    assert [b - a == 2 for a, b in pairwise(found)].count(False) == 2
    for third, first in enumerate(found[::32]):
        assert 200 * third <= first < 200 * third + (200 - 64)
    found = numbers(3200, stretches=32, length=1)
    assert [number // 100 for number in found] == list(range(32))
    assert all(number % 100 < 98 for number in found)
    assert numbers(1, stretches=3, length=32) == [0] * 96
    assert numbers(12, stretches=32, length=1) == [0] * 32
    found = numbers(10, stretches=3, length=32)
    assert found[:7] == [0, 2, 4, 6, 8, 0, 2]
    assert found[32:36] == [3, 5, 7, 9]


def test_a_fragment_comes_from_each_cell_of_the_grid_which_a_small_picture_is_enlarged_to_fit() -> (
    None
):
    made, last = fragments(places(700, 1400), CORNER), fragments(places(700, 1400), END)
    assert made.shape == (224, 224, 3)
    # a cell has 100 rows
    assert [made[32 * at, 0, 0] for at in range(7)] == [25 * at for at in range(7)]
    assert [made[0, 32 * at, 1] for at in range(7)] == [
        (50 * at) % 256 for at in range(7)
    ]
    # 100 - 32 and 200 - 32, the last place left out
    assert last[0, 0].tolist() == [67 // 4, 167 // 4, 0]
    assert last[31, 31].tolist() == [98 // 4, 198 // 4, 0]
    assert fragments(places(112, 336), CORNER)[-1, -1, 0] == (112 - 1) // 4
    assert np.array_equal(fragments(places(224, 224), END), places(224, 224))


def test_a_picture_is_resized_between_the_nearest_pixels_alone_and_normalised_by_colour() -> (
    None
):
    stripes, nine = np.zeros((4, 4, 3), np.uint8), np.zeros((9, 9, 3), np.uint8)
    stripes[:, ::2], nine[1::3, 1::3] = 200, 90
    assert resized(stripes, 4, 4) is stripes
    assert resized(stripes, 4, 2)[0, :, 0].tolist() == [100, 100]
    assert resized(stripes, 4, 8)[0, :, 0].tolist() == [
        200,
        150,
        50,
        50,
        150,
        150,
        50,
        0,
    ]
    # what lies between does not count
    assert resized(nine, 3, 3).max() == resized(nine, 3, 3).min() == 90
    grey = normalised(np.full((3, 32, 2, 2, 3), 128, np.uint8))
    assert grey.shape == (3, 3, 32, 2, 2)
    assert grey.dtype == np.float32
    assert grey[0, :, 0, 0, 0] == pytest.approx(
        [4.325 / 58.395, 11.72 / 57.12, 24.47 / 57.375]
    )


def test_both_views_have_the_shapes_that_the_branches_take_and_damage_is_an_error() -> (
    None
):
    found = views_of(Media.from_bytes(clip(frames=12)))
    assert [view.shape for view in found] == [
        (3, 3, 32, 224, 224),
        (1, 3, 32, 224, 224),
    ]
    # frames 0 and 10, each lighter than before
    first, last = (found.technical[0, 0, at].mean() for at in (0, 5))
    assert first < last
    with pytest.raises(CorruptMediaError):
        views_of(Media(data=sound_clip(), mime="video/mp4", size=1))
    with pytest.raises(MediaLimitError):
        views_of(Media.from_bytes(clip()), limits=DecodeLimits(max_video_frames=3))


def test_what_is_drawn_at_random_follows_from_the_video_and_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[np.ndarray[Any, np.dtype[np.float64]]] = []

    def noted(
        media: Media, technical: Any, aesthetic: Any, at: Any, limits: DecodeLimits
    ) -> Any:
        drawn.append(at)
        return np.zeros((96, SIDE, SIDE, 3), np.uint8), np.zeros(
            (32, SIDE, SIDE, 3), np.uint8
        )

    monkeypatch.setattr(views, "_used_frames", noted)
    one, other = Media.from_bytes(clip(frames=3)), Media.from_bytes(clip(frames=4))
    for media, seed in ((one, 0), (one, 0), (other, 0), (one, 1)):
        views_of(media, seed=seed)
    assert [np.array_equal(drawn[0], at) for at in drawn] == [True, True, False, False]
    assert drawn[0].shape == (2, 3, 7, 7)


def test_the_same_places_are_cut_in_all_frames_of_a_clip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut: list[bytes] = []

    def noted(pixels: Any, at: Any) -> Any:
        cut.append(at.tobytes())
        return np.zeros((SIDE, SIDE, 3), np.uint8)

    monkeypatch.setattr(views, "fragments", noted)
    views_of(Media.from_bytes(clip(frames=200)))
    assert len(cut) == 96
    assert len(set(cut)) == 3
