from typing import Any

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.metric import bind
from mmeval.metrics.image.fill import (
    bands_of,
    border_fill,
    border_strip,
    inside,
    region_fill,
    share_near,
)
from mmeval.records import Trial
from tests.support.pictures import (
    DAMAGED,
    by_scikit_image,
    even,
    framed,
    noise,
    painted,
    picture_trial,
)
from tests.support.trials import score_of, trial

PICTURE = noise(100, 100)
EVERYTHING = slice(None)
CYAN, GREEN = (0, 255, 255), (0, 128, 0)
FIT: dict[str, Any] = {"region": "left half", "color": "red"}
METRICS = pytest.mark.parametrize(
    "scored", [region_fill, border_fill], ids=lambda found: found.name
)
SHARES: dict[str, list[Any]] = {"half": [0.0, 1.0], "border": [0.0, 0.5]}
SHARES |= {"thirds": [[0.7, 0.3], [0.0, 0.5], [0.5, 1.0]], "quarters": [[0.25, 0.5]]}
NEAR = [
    ((22, 22, 22), "black"),
    ((22, 22, 23), "black"),
    ((255, 228, 0), "red"),
    ((255, 231, 0), "red"),
]
NEAR += [((255, 0, 228), "red"), ((255, 0, 231), "red"), ((0, 0, 255), "blue")]
"""Fillings of a left half or a border that pass or fail by little, with the wanted
colour."""


def region(pixels: Any, label: str, color: str) -> Trial:
    return picture_trial(pixels, region=label, color=color)


def filled(columns: slice, color: tuple[int, int, int], ground: Any = PICTURE) -> Any:
    return painted(ground, EVERYTHING, columns, color)


def test_each_region_has_its_band_beside_it() -> None:
    bands: dict[str, tuple[str, Any, Any]] = {
        "left half": ("width", (0, 0.5), (0.5, 1))
    }
    bands |= {
        "lower half": ("height", (0.5, 1), (0, 0.5)),
        "upper third": ("height", (0, 0.33), (0.33, 0.67)),
    }
    bands |= {
        "right third": ("width", (0.67, 1), (0.33, 0.67)),
        "left quarter": ("width", (0, 0.25), (0.25, 0.5)),
    }
    bands |= {"lower quarter": ("height", (0.75, 1), (0.5, 0.75))}
    assert {label: bands_of(label) for label in bands} == bands
    half = bands_of("left half")  # its edge is rounded half to even
    assert [
        half.cut(even(7, width, CYAN), half.region).shape[1] for width in (9, 11, 13)
    ] == [4, 6, 6]
    for label in ("left fifth", "middle half", "left", "left half too", 3):
        assert "'region'" in bind(region_fill).sample_fault(
            picture_trial(region=label, color="red").sample
        )


@pytest.mark.parametrize(
    ("pixels", "label", "color", "value", "penalty"),
    [
        (filled(slice(0, 50), GREEN), "left half", "green", 1, 0),
        (
            painted(PICTURE, slice(0, 50), EVERYTHING, CYAN),
            "upper third",
            "cyan",
            0.5,
            0.5,
        ),
        (filled(slice(0, 50), GREEN), "left half", "blue", 0, 0),
        (filled(slice(0, 50), (90, 90, 90)), "left half", "red", 1, 0),
    ],
)
def test_hand_made_regions(
    pixels: Any, label: str, color: str, value: float, penalty: float
) -> None:
    score = score_of(region_fill, region(pixels, label, color))
    assert (score.value, score.evidence["penalty"]) == pytest.approx(
        (value, penalty), abs=0.01
    )


def test_a_speckled_region_agrees_with_the_released_evaluator_and_by_hand() -> None:
    ground, rng = noise(97, 133, 9), np.random.RandomState(9)
    ground[:, :20] = np.clip(
        np.array([255, 128, 0]) + rng.randint(-1, 2, (97, 20, 3)), 0, 255
    )
    score = score_of(region_fill, region(ground, "left quarter", "orange"), "official")
    assert score.value == pytest.approx(0.37965078351355397, abs=1e-4)
    assert score.evidence["avg_color"] == [181, 130, 32]
    assert score.evidence["penalty"] == pytest.approx(0.0009372071227741331)
    speckled = filled(slice(0, 50), GREEN)
    speckled[::3, :50] = (0, 131, 4)
    score = score_of(region_fill, region(speckled, "left half", "green"))
    by_hand = pytest.approx(
        by_scikit_image(speckled[:, :50], even(100, 50, (0, 129, 1))), abs=1e-6
    )
    assert score.value == by_hand
    assert score.evidence["ssim"] == by_hand
    assert score.evidence["avg_color"] == [0, 129, 1]
    assert score.evidence["color_ok"] is True


def test_the_strip_of_a_border_has_its_sides_turned_left_and_the_inside_is_cut_at_rounded_shares() -> (
    None
):
    pixels = np.arange(20 * 30 * 3).reshape(20, 30, 3).astype(np.uint8)
    strip = border_strip(pixels, 0.1)
    assert strip.shape == (2 + 3 + 3 + 2, 20, 3)
    assert (strip[:2] == pixels[:2, 5:25]).all()
    assert (strip[2:5] == np.rot90(pixels[:, :3])).all()
    assert (strip[5:8] == np.rot90(pixels[:, 27:])).all()
    assert (strip[8:] == pixels[18:, 5:25]).all()
    high = noise(33, 20)  # the square cannot lie in the middle and is nearer to the top
    assert (border_strip(high, 0.1)[3:5] == np.rot90(high[6:26, :2])).all()
    assert inside(PICTURE[:95, :84], 0.1).shape == (76, 68, 3)
    pixels = np.array([[[16, 0, 0], [16, 1, 0], [0, 0, 0], [255, 255, 255]]], np.uint8)
    assert share_near(pixels, [0, 0, 0], 16) == 0.5
    assert share_near(pixels[:0], [0, 0, 0], 16) == 0


def test_borders_agree_with_the_released_evaluator() -> None:
    thick = framed(noise(120, 120, 24), 24, 24, (255, 128, 0))
    assert (
        score_of(border_fill, picture_trial(thick, color="orange"), "official").value
        == 0
    )
    picture, rng = noise(121, 133, 27), np.random.RandomState(27)
    frame = np.clip(
        np.array([12, 9, 14]) + rng.randint(-3, 4, (121, 133, 3)), 0, 255
    ).astype(np.uint8)
    frame[12:109, 13:120] = picture[12:109, 13:120]
    score = score_of(border_fill, picture_trial(frame, color="black"), "official")
    assert score.value == pytest.approx(0.9326246916000742, abs=1e-4)
    assert score.evidence["avg_color"] == [12, 8, 13]


@METRICS
def test_without_a_picture_to_measure_it_is_zero_and_without_a_usable_label_unscored(
    scored: Any,
) -> None:
    for answer in (DAMAGED, PICTURE[:1, :1], PICTURE[:6]):
        score = score_of(scored, picture_trial(answer, **FIT))
        assert score.value == 0
        assert list(score.evidence) == ["reason"]
    assert score_of(scored, trial(None, metadata=FIT)).status == "unscored"
    assert bind(scored).sample_fault(picture_trial(**FIT).sample) == ""
    assert (
        "ssim"
        in score_of(
            region_fill, region(even(7, 40, (255, 0, 0)), "left half", "red")
        ).evidence
    )
    for given in (
        picture_trial(PICTURE),
        picture_trial(PICTURE, color="beige", region="left half"),
    ):
        score = score_of(scored, given)
        assert score.status == "unscored"
        assert score.reason == bind(scored).sample_fault(given.sample)
        assert "label" in score.reason


def test_a_share_out_of_its_range_is_refused() -> None:
    for switch, value in [
        (switch, value) for switch, own in SHARES.items() for value in own
    ]:
        with pytest.raises(UsageError, match=f"'{switch}'"):
            bind(border_fill if switch == "border" else region_fill, {switch: value})


def runs_over(pixels: Any, columns: slice) -> Any:
    """With two rows beside the filling that are 16, and a little more than 16, away
    from blue."""
    done = painted(pixels, slice(40, 41), columns, (16, 0, 255))
    return painted(done, slice(42, 43), columns, (16, 1, 255))


def test_regions_and_borders_near_the_thresholds_pass_or_fail() -> None:
    halves = [
        (runs_over(filled(slice(0, 50), color), slice(50, 99)), "left half", name)
        for color, name in NEAR
    ]
    spans = {
        "left third": (0, 33),
        "right third": (67, 100),
        "left quarter": (0, 25),
        "right quarter": (75, 100),
    }
    parts = [
        (filled(slice(*span), GREEN), label, "green") for label, span in spans.items()
    ]
    beside = (
        filled(slice(49, 50), GREEN, filled(slice(0, 25), GREEN)),
        "left quarter",
        "green",
    )
    values = [
        score_of(region_fill, region(*case)).value for case in (*halves, *parts, beside)
    ]
    assert [round(value or 0, 2) for value in values] == [
        1,
        0,
        1,
        0,
        1,
        0,
        0.99,
        1,
        1,
        1,
        1,
        0.96,
    ]
    pictures = [
        (runs_over(framed(noise(100, 100, 5), 10, 10, color), slice(11, 17)), name)
        for color, name in NEAR
    ]
    values = [
        score_of(border_fill, picture_trial(pixels, color=name)).value
        for pixels, name in pictures
    ]
    assert [round(value or 0, 2) for value in values] == [1, 0, 1, 0, 1, 0, 1]
    other = picture_trial(pictures[-1][0], color="red", other="blue")
    assert score_of(
        border_fill, other, color_key="other", border=0.11
    ).value == pytest.approx(0.23635557)
