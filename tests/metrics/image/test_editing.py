from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.errors import UsageError
from mmeval.metric import bind
from mmeval.metrics.image.editing import box_fault, edit_outside_ssim, padded_box
from mmeval.records import Trial
from tests.support.pictures import (
    DAMAGED,
    by_scikit_image,
    noise,
    painted,
    picture_trial,
)
from tests.support.trials import score_of

ORIGINAL = noise(120, 150, 31)
BBOX = [40, 30, 90, 80]
EMPTY = [[9, 0, 9, 9], [0, 9, 9, 9]]
NO_BOXES = [
    None,
    "0,0,9,9",
    [1, 2, 3],
    [0, 0, True, 9],
    [0.5, 0, 9, 9],
    [0, 0, float("nan"), 9],
    [0, 0, 10**9, 9],
]


def edit(answer: Any, bbox: Any = BBOX, **labels: Any) -> Trial:
    return picture_trial(answer, given=(ORIGINAL,), bbox=bbox, **labels)


def test_a_box_is_widened_by_a_tenth_and_an_edit_inside_it_costs_nothing() -> None:
    boxes = {
        (40.0, 30.0, 90.0, 80.0): (25, 18, 105, 92),
        (10, 10, 60, 60): (0, 0, 75, 72),
    }
    boxes |= {
        (-1, 0, 150, 120): (0, 0, 150, 120),
        (140, 100, 400, 300): (125, 88, 150, 120),
    }
    assert {bbox: padded_box(bbox, (150, 120)) for bbox in boxes} == boxes
    # the margin is rounded down
    assert padded_box([50, 50, 60, 60], (159, 119)) == (35, 39, 75, 71)
    inside, outside = (
        painted(ORIGINAL, slice(40, 80), columns, (9, 9, 9))
        for columns in (slice(40, 90), slice(110, 150))
    )
    scores = [
        score_of(edit_outside_ssim, edit(answer))
        for answer in (ORIGINAL, inside, outside)
    ]
    assert [score.value == 1 for score in scores] == [True, True, False]
    assert [score.evidence["padded_box"] for score in scores] == [[25, 18, 105, 92]] * 3


def test_the_black_box_counts_as_agreement_and_an_output_of_another_size_is_resized() -> (
    None
):
    other = noise(120, 150, 32)
    black = [
        painted(one, slice(18, 92), slice(25, 105), (0, 0, 0))
        for one in (other, ORIGINAL)
    ]
    assert score_of(edit_outside_ssim, edit(other)).value == pytest.approx(
        by_scikit_image(*black), abs=1e-6
    )
    original = noise(120, 150, 34)
    larger = np.asarray(
        Image.fromarray(original).resize((300, 240), Image.Resampling.NEAREST)
    )
    score = score_of(
        edit_outside_ssim,
        picture_trial(larger, given=(original,), bbox=[10, 10, 60, 60]),
        "official",
    )
    assert score.value == pytest.approx(0.9831510239090072, abs=1e-4)
    assert score.evidence["padded_box"] == [0, 0, 75, 72]


@pytest.mark.parametrize("bbox", [*NO_BOXES, *EMPTY], ids=str)
def test_a_label_that_is_no_box_is_found_before_the_run_and_unscored(bbox: Any) -> None:
    scored = edit(ORIGINAL, bbox)
    score = score_of(edit_outside_ssim, scored)
    assert score.status == "unscored"
    assert score.reason == bind(edit_outside_ssim).sample_fault(scored.sample)
    assert "'bbox'" in score.reason
    assert ("empty" in score.reason) == (bbox in EMPTY)
    assert box_fault([-1, 0, 10**9 - 1, 5], "bbox") == ""


def test_without_a_picture_or_a_box_in_it_to_compare_with_it_is_unscored() -> None:
    for given, against in (
        ((), "input"),
        ((DAMAGED,), "input"),
        ((ORIGINAL[:6],), "input"),
        ((ORIGINAL,), "reference"),
    ):
        scored = picture_trial(ORIGINAL, given=given, bbox=[0, 0, 5, 5])
        score = score_of(edit_outside_ssim, scored, against=against)
        assert score.status == "unscored"
    smallest = picture_trial(ORIGINAL, given=(ORIGINAL[:7],), bbox=[0, 0, 5, 5])
    assert score_of(edit_outside_ssim, smallest).status == "scored"
    for bbox in ([165, 0, 170, 9], [0, 132, 9, 140]):
        score = score_of(edit_outside_ssim, edit(ORIGINAL, bbox))
        assert score.status == "unscored"
        assert "150 x 120" in score.reason


def test_an_answer_without_a_picture_is_zero_no_answer_unscored_and_one_pixel_is_stretched() -> (
    None
):
    score = score_of(
        edit_outside_ssim, picture_trial(DAMAGED, given=(ORIGINAL,), bbox=BBOX)
    )
    assert score.value == 0
    assert list(score.evidence) == ["reason"]
    assert (
        score_of(edit_outside_ssim, Trial(edit(ORIGINAL).sample)).status == "unscored"
    )
    assert 0 < (score_of(edit_outside_ssim, edit(ORIGINAL[:1, :1])).value or 0) < 1
    wanted = noise(60, 50, 2)
    scored = picture_trial(
        wanted, given=(ORIGINAL,), reference=(wanted,), other=[10, 10, 20, 20]
    )
    score = score_of(edit_outside_ssim, scored, against="reference", bbox_key="other")
    assert score.value == 1
    assert score.evidence == {"ssim": 1, "padded_box": [5, 4, 25, 26]}
    nearer = score_of(
        edit_outside_ssim, scored, against="reference", bbox_key="other", margin=5
    )
    assert nearer.evidence["padded_box"] == [0, 0, 30, 32]
    with pytest.raises(UsageError):
        bind(edit_outside_ssim, {"margin": 0})
