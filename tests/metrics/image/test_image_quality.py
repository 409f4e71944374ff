from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.metric import bind
from mmeval.metrics.image.image_quality import enlarged_size, image_quality, quality_of
from mmeval.metrics.image.quality.niqe import niqe_of
from mmeval.metrics.image.quality.released_quality import released_quality
from tests.support.pictures import DAMAGED, even, noise, picture_trial
from tests.support.trials import score_of, trial

PICTURE = noise(192, 288)
SMALL = noise(96, 130)


def item(answer: Any, profile: str = "standard", **switches: Any) -> dict[str, Any]:
    found: dict[str, Any] = score_of(
        image_quality, picture_trial(answer), profile, **switches
    ).evidence["items"][0]
    return found


def test_ten_and_more_is_no_quality_and_a_side_under_192_pixels_is_brought_to_it_by_cubics() -> (
    None
):
    qualities = {-1: 1, 0: 1, 2.5: 0.75, 10: 0, 27: 0, float("inf"): 0}
    assert {distance: quality_of(distance) for distance in qualities} == qualities
    distance = niqe_of(PICTURE).niqe or 0
    terms = {
        "niqe": distance,
        "patches": 6,
        "of": 6,
        "enlarged": False,
        "too_few_patches": False,
    }
    assert item(PICTURE, worst=100.0) == {
        "label": "image1",
        "quality": 1 - distance / 100,
        **terms,
    }
    sizes = {
        (192, 192): (192, 192),
        (191, 500): (192, 503),
        (500, 191): (503, 192),
        (1, 3): (192, 576),
    }
    assert {
        size: enlarged_size(np.zeros((*size, 3), np.uint8), 192) for size in sizes
    } == sizes
    by_pillow = np.asarray(
        Image.fromarray(SMALL).resize((260, 192), Image.Resampling.BICUBIC)
    )
    found = item(SMALL)
    assert found["niqe"] == niqe_of(by_pillow).niqe
    assert found["enlarged"] is True
    assert not image_quality.switch_fault(
        "short_side", 0
    ) and not image_quality.switch_fault("worst", 0.5)
    assert image_quality.switch_fault("short_side", -1) and image_quality.switch_fault(
        "worst", 0.0
    )
    assert item(SMALL, short_side=0)["enlarged"] is False


def test_pictures_without_a_measure_have_no_quality_and_damaged_ones_zero() -> None:
    found = item(even(300, 300, (10, 200, 30)))
    assert found["quality"] == 0
    assert found["niqe"] is None
    assert found["too_few_patches"] is True
    assert found["reason"][:2] == "0 "
    score = score_of(image_quality, picture_trial(even(1, 1100, (1, 2, 3))))
    assert score.status == "unscored"
    assert score.bounds == (0, 1)
    assert "max_pixels" in score.reason
    assert score_of(image_quality, trial("words")).status == "inapplicable"
    assert score_of(image_quality, trial("<image1>")).value == 0
    answer = picture_trial(SMALL, DAMAGED)
    standard, official = (
        score_of(image_quality, answer, profile) for profile in ("standard", "official")
    )
    assert standard.evidence["items"][1]["quality"] == 0
    assert standard.value == pytest.approx(standard.evidence["items"][0]["quality"] / 2)
    assert official.status == "unscored"
    assert official.evidence["items"][1]["quality"] is None


def test_the_released_quality_is_its_score_with_all_terms() -> None:
    assert [
        "cv2:ocr" in bind(image_quality, profile=name).needs
        for name in ("standard", "official")
    ] == [False, True]
    released = released_quality(SMALL)
    found = item(SMALL, "official")
    assert released is not None
    assert (
        found["quality"]
        == round(released.score / 100, 4)
        == pytest.approx(1 - released.brisque / 100, abs=5e-5)
    )
    assert {"brisque", "niqe", "features_scale1", "features_scale2"} < set(found)
    score = score_of(image_quality, picture_trial(noise(1, 40)), "official")
    assert score.status == "unscored"
    assert score.evidence["items"][0]["quality"] is None


def test_a_clean_drawing_in_two_colours_scores_0_as_it_is_no_photograph() -> None:
    drawing = np.full((192, 192, 3), 255, np.uint8)
    drawing[40:150, 30:160] = (200, 30, 30)
    found = item(drawing)
    assert found["quality"] == 0
    assert found["niqe"] > 20
    assert "drawing" in image_quality.caution
