from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.errors import UsageError
from mmeval.metric.bound import bind
from mmeval.metrics.image.editing import (
    Box,
    Edit,
    blackened,
    box_fault,
    cropped,
    edit_of,
    edit_outside_ssim,
    padded_box,
)
from mmeval.records.trial import Trial
from tests.support.pictures import DAMAGED, by_scikit_image, noise, painted, picture_trial
from tests.support.switch_changes import unnoticed
from tests.support.trials import score_of, trial

ORIGINAL = noise(120, 150, 31)
BBOX = [40, 30, 90, 80]


def edit(answer: Any, bbox: Any = BBOX, **labels: Any) -> Trial:
    return picture_trial(answer, given=(ORIGINAL,), bbox=bbox, **labels)


@pytest.mark.parametrize(
    ("bbox", "box"),
    [
        (BBOX, (25, 18, 105, 92)),
        ([10, 10, 60, 60], (0, 0, 75, 72)),
        ([-1, 0, 150, 120], (0, 0, 150, 120)),
        ([140, 100, 400, 300], (125, 88, 150, 120)),
        ([40.0, 30.0, 90.0, 80.0], (25, 18, 105, 92)),
    ],
    ids=["inside", "at a corner", "begins outside", "ends outside", "whole numbers with a point"],
)
def test_a_box_is_widened_by_a_tenth_of_the_picture_and_cut_at_its_edges(bbox: Any, box: Any) -> None:
    assert padded_box(bbox, (150, 120)) == box


def test_the_margin_is_rounded_down() -> None:
    assert padded_box([50, 50, 60, 60], (159, 119)) == (35, 39, 75, 71)


def test_an_edit_inside_the_box_costs_nothing_and_one_outside_does() -> None:
    inside, outside = (
        painted(ORIGINAL, slice(40, 80), columns, (9, 9, 9)) for columns in (slice(40, 90), slice(110, 150))
    )
    scores = [score_of(edit_outside_ssim, edit(answer)) for answer in (ORIGINAL, inside, outside)]
    assert [score.value == 1 for score in scores] == [True, True, False]
    assert [score.evidence["padded_box"] for score in scores] == [[25, 18, 105, 92]] * 3


def test_the_black_box_counts_as_agreement_within_the_mean() -> None:
    other = noise(120, 150, 32)
    by_hand = by_scikit_image(
        painted(other, slice(18, 92), slice(25, 105), (0, 0, 0)),
        painted(ORIGINAL, slice(18, 92), slice(25, 105), (0, 0, 0)),
    )
    assert score_of(edit_outside_ssim, edit(other)).value == pytest.approx(by_hand, abs=1e-6)


def test_an_output_of_another_size_agrees_with_the_released_evaluator() -> None:
    original = noise(120, 150, 34)
    larger = np.asarray(Image.fromarray(original).resize((300, 240), Image.Resampling.NEAREST))
    score = score_of(edit_outside_ssim, picture_trial(larger, given=(original,), bbox=[10, 10, 60, 60]), "official")
    assert score.value == pytest.approx(0.9831510239090072, abs=1e-4)
    assert score.evidence["padded_box"] == [0, 0, 75, 72]


def test_a_wanted_result_is_compared_with_in_its_own_size() -> None:
    wanted = noise(60, 50, 2)
    scored = picture_trial(wanted, given=(ORIGINAL,), reference=(wanted,), bbox=[10, 10, 20, 20])
    score = score_of(edit_outside_ssim, scored, against="reference")
    assert (score.value, score.evidence["padded_box"]) == (1, [5, 4, 25, 26])


def test_the_region_of_an_edit_is_cut_out_of_the_picture_in_the_size_of_the_original() -> None:
    found = edit_of(edit(noise(240, 300, 7)))
    assert isinstance(found, Edit)
    assert found.edited.shape == found.original.shape == (120, 150, 3)
    assert cropped(found.edited, found.box).size == (80, 74)


def test_what_is_cut_or_blackened_leaves_the_picture_as_it_is() -> None:
    before = ORIGINAL.copy()
    blackened(ORIGINAL, Box(0, 0, 50, 50))
    cropped(ORIGINAL, Box(0, 0, 50, 50)).paste((0, 0, 0), (0, 0, 50, 50))
    assert (before == ORIGINAL).all()


@pytest.mark.parametrize(
    ("bbox", "reason"),
    [
        (None, "must be a box"),
        ("0,0,9,9", "must be a box"),
        ([1, 2, 3], "must be a box"),
        ([0, 0, "9", 9], "must be a box"),
        ([0, 0, True, 9], "must be a box"),
        ([0.5, 0, 9, 9], "must be a box"),
        ([0, 0, float("nan"), 9], "must be a box"),
        ([0, 0, float("inf"), 9], "must be a box"),
        ([0, 0, 10**400, 9], "must be a box"),
        ([9, 0, 9, 9], "is empty"),
        ([0, 9, 9, 3], "is empty"),
    ],
    ids=str,
)
def test_a_box_that_is_none_is_said_beforehand_and_leaves_it_unscored(bbox: Any, reason: str) -> None:
    scored = edit(ORIGINAL, bbox)
    score = score_of(edit_outside_ssim, scored)
    assert (score.status, score.reason) == ("unscored", bind(edit_outside_ssim).sample_fault(scored.sample))
    assert reason in score.reason


def test_a_box_outside_the_picture_leaves_it_unscored() -> None:
    score = score_of(edit_outside_ssim, edit(ORIGINAL, [500, 500, 600, 600]))
    assert score.reason == "the box [500, 500, 600, 600] under 'bbox' lies outside the picture of 150 x 120"


def test_a_usable_box_has_no_fault() -> None:
    assert box_fault([-1, 0, 5, 5], "bbox") == ""


@pytest.mark.parametrize(
    ("given", "against", "reason"),
    [
        ((), "input", "the sample's input has no picture"),
        ((DAMAGED,), "input", "cannot be decoded"),
        ((ORIGINAL[:6],), "input", "the input picture is 150 x 6: no side may be under 7 pixels"),
        ((ORIGINAL,), "reference", "no reference"),
    ],
    ids=["none", "damaged", "too small", "no reference"],
)
def test_without_a_picture_to_compare_with_it_is_unscored(given: Any, against: str, reason: str) -> None:
    score = score_of(edit_outside_ssim, picture_trial(ORIGINAL, given=given, bbox=BBOX), against=against)
    assert (score.value, score.status) == (None, "unscored")
    assert reason in score.reason


@pytest.mark.parametrize("answer", [(), (ORIGINAL, ORIGINAL), (DAMAGED,)], ids=["none", "two", "damaged"])
def test_an_answer_without_exactly_one_picture_is_zero(answer: Any) -> None:
    score = score_of(edit_outside_ssim, picture_trial(*answer, given=(ORIGINAL,), bbox=BBOX))
    assert (score.value, score.status, list(score.evidence)) == (0, "scored", ["reason"])


def test_an_answer_of_one_pixel_is_stretched_and_scored() -> None:
    score = score_of(edit_outside_ssim, edit(ORIGINAL[:1, :1]))
    assert score.value is not None
    assert 0 < score.value < 1


def test_no_answer_is_unscored() -> None:
    scored = Trial(edit(ORIGINAL).sample)
    assert score_of(edit_outside_ssim, scored).status == "unscored"
    assert score_of(edit_outside_ssim, trial(None)).status == "unscored"


def test_each_switch_changes_a_score() -> None:
    scored = picture_trial(
        noise(120, 150, 3), given=(ORIGINAL,), reference=(noise(90, 90),), bbox=BBOX, other=[0, 0, 9, 9]
    )
    changes = {"against": ("reference",), "bbox_key": ("other",), "margin": (9, 11)}
    assert unnoticed(edit_outside_ssim, changes, [scored]) == []


def test_a_margin_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        bind(edit_outside_ssim, {"margin": 0})
