import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from mmeval.errors import CorruptMediaError
from mmeval.tasks.mme_unify.clips import frames as module
from mmeval.tasks.mme_unify.clips.frames import (
    even_frames,
    key_frame_indices,
    key_frames,
    pixels_of,
)
from tests.support.pictures import clip_of, greys

STEPS = [0, 100, 40, 140, 80, 180, 120, 220, 160]
"""Each differs by 40 at least from its neighbours."""


def shades(jpegs: list[bytes]) -> list[int]:
    return [round(float(pixels_of(one).mean())) for one in jpegs]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each function of the decoder that reads a clip."""
    called: list[str] = []

    def noted(name: str, usual: Callable[..., object]) -> Callable[..., object]:
        def call(clip: object, which: object) -> object:
            called.extend([name] if which != set() else [])
            return usual(clip, which)

        return call

    for name in ("frames_by_change", "frames_at"):
        monkeypatch.setattr(module, name, noted(name, getattr(module, name)))
    return called


def test_a_clip_that_hardly_changes_gives_even_frames_and_is_decoded_once(
    decoded: list[str],
) -> None:
    even = [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 19]
    clip = clip_of(greys(*range(40, 60)))
    assert shades(key_frames(clip)) == pytest.approx([40 + at for at in even], abs=1)
    assert key_frames(clip) is key_frames(clip)
    assert decoded == ["frames_by_change"]


def test_a_clip_that_changes_often_enough_gives_the_frames_that_change(
    decoded: list[str],
) -> None:
    shown = [shade for shade in STEPS * 2 for _ in range(3)]
    changing = shades(key_frames(clip_of(greys(*shown[:48]))))
    assert changing == pytest.approx((STEPS * 2)[:16], abs=1)
    assert decoded == ["frames_by_change"]
    # 15 changes: even frames
    assert len(shades(key_frames(clip_of(greys(*shown[:45]))))) == 16
    thinned = shades(key_frames(clip_of(greys(*STEPS * 2))))
    assert thinned == pytest.approx(
        [(STEPS * 2)[at] for at in key_frame_indices(range(18), 18)], abs=1
    )


def test_more_changes_than_are_held_are_decoded_again(decoded: list[str]) -> None:
    shown = [shade for shade in STEPS * 10 for _ in range(2)]
    found = shades(key_frames(clip_of(greys(*shown))))
    assert found == pytest.approx(
        [shown[at] for at in key_frame_indices(range(0, 180, 2), 180)], abs=1
    )
    assert decoded == ["frames_by_change", "frames_at"]


def test_a_wrong_declaration_is_mended_by_a_second_look(
    decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = clip_of(greys(*range(40, 80)))
    right = shades(key_frames(clip_of(greys(*range(40, 80)))))
    monkeypatch.setattr(module, "_declared", lambda _: 1000)
    assert shades(key_frames(clip)) == right
    assert decoded[1:] == ["frames_by_change", "frames_at"]


@pytest.mark.parametrize("count", [1, 5, 16])
def test_a_short_clip_gives_all_its_frames(count: int) -> None:
    assert shades(key_frames(clip_of(greys(*range(50, 50 + count))))) == pytest.approx(
        list(range(50, 50 + count)), abs=1
    )


def test_even_frames_go_from_the_first_to_the_last_and_repeat_few(
    decoded: list[str],
) -> None:
    clip = clip_of(greys(*range(50, 70)))
    assert even_frames(
        clip, 4, lambda pixels: round(float(pixels.mean()))
    ) == pytest.approx([50, 56, 62, 69], abs=1)
    assert decoded == ["frames_by_change"]
    assert len(even_frames(clip_of(greys(1, 2)), 5, np.mean)) == 5


def test_a_clip_without_a_frame_is_none() -> None:
    with pytest.raises(CorruptMediaError):
        key_frames(clip_of([], form="avi", codec="mpeg4"))
    with pytest.raises(CorruptMediaError):
        even_frames(clip_of([], form="mp4", codec="mpeg4"), 4, np.mean)


def test_a_key_frame_is_stored_in_the_quality_of_the_scripts() -> None:
    opened = Image.open(io.BytesIO(key_frames(clip_of(greys(1, 2)))[0]))
    assert [table[:8] for table in opened.quantization.values()] == [  # type: ignore[attr-defined]
        [2, 1, 1, 2, 2, 4, 5, 6],
        [2, 2, 2, 5, 10, 10, 10, 10],
    ]


def test_a_frame_counts_from_a_mean_difference_above_twenty() -> None:
    assert key_frame_indices([0, 3], 4) == [0, 1, 2, 3]
    assert key_frame_indices(range(16), 99) == [*range(16)]
    assert key_frame_indices(range(0, 62, 2), 62)[:3] == [0, 4, 8]
    assert module.CHANGE == 20
