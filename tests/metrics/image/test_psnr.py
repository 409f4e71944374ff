import numpy as np
import pytest

from mmeval.metric import bind
from mmeval.metrics.image.psnr import psnr
from mmeval.metrics.image.smaller import at_smaller_size
from tests.support.pictures import DAMAGED, even, noise, picture_trial
from tests.support.trials import score_of, trial

BLACK, GREY = even(20, 20, (0, 0, 0)), even(20, 20, (100, 100, 100))
OF_GREY = 10 * np.log10(255**2 / 100**2)


def test_values_by_hand() -> None:
    pairs = picture_trial(BLACK, GREY, reference=(GREY, GREY))
    score = score_of(psnr, pairs)
    assert score.evidence["psnr"] == [pytest.approx(OF_GREY), 100.0]
    assert score.value == pytest.approx((OF_GREY + 100) / 2)
    assert score_of(psnr, pairs, most=30.0).value == pytest.approx((OF_GREY + 30) / 2)
    assert bind(psnr, {"most": 30.0}).metric.range == (0, 30)


def test_pictures_of_two_sizes_are_wrong_or_compared_at_the_smaller_one() -> None:
    one, other = noise(30, 50, 1), noise(40, 20, 2)
    sized = picture_trial(one, reference=(other,))
    own = score_of(psnr, sized)
    assert own.value == 0
    assert list(own.evidence) == ["reason"]
    first, second = at_smaller_size(one, other)
    error = ((first.astype(np.float64) - second) ** 2).mean()
    assert score_of(psnr, sized, size="smaller").value == pytest.approx(
        -10 * np.log10(error), abs=1e-4
    )


def test_an_answer_without_the_picture_is_zero_or_dropped() -> None:
    wrong = picture_trial(DAMAGED, reference=(GREY,))
    assert score_of(psnr, wrong).value == 0
    assert score_of(psnr, wrong, missing="dropped").status == "inapplicable"


def test_a_fault_of_the_data_is_unscored() -> None:
    for sample in (
        picture_trial(GREY),
        picture_trial(GREY, reference=(DAMAGED,)),
        trial(None),
    ):
        assert score_of(psnr, sample, missing="dropped").status == "unscored"
    white = even(20, 20, (255, 255, 255))
    opposite = score_of(
        psnr, picture_trial(BLACK, reference=(white,)), missing="dropped"
    )
    assert opposite.value == 0
