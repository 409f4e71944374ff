from typing import Any

import numpy as np
import pytest
from skimage import metrics

from mmeval.metric import bind
from mmeval.metrics.image.similarity import image_similarity
from mmeval.metrics.image.smaller import at_smaller_size
from tests.support.pictures import DAMAGED, even, noise, picture_trial
from tests.support.trials import score_of

A, B = noise(40, 56, 1), noise(40, 56, 2)
BLACK, GREY = even(20, 20, (0, 0, 0)), even(20, 20, (100, 100, 100))


def test_it_agrees_with_scikit_image_and_is_the_mean_over_pairs() -> None:
    wang = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    expected: dict[tuple[Any, ...], float] = {
        ("psnr",): metrics.peak_signal_noise_ratio(A, B),
        ("nrmse",): metrics.normalized_root_mse(A, B),
        ("mse",): metrics.mean_squared_error(A, B),
        ("ssim", "window", 11): metrics.structural_similarity(
            A, B, channel_axis=2, win_size=11
        ),
        ("ssim", "gaussian", True): metrics.structural_similarity(
            A, B, channel_axis=2, **wang
        ),
    }
    for (measure, *switch), value in expected.items():
        more = {switch[0]: switch[1]} if switch else {}
        score = score_of(
            image_similarity, picture_trial(B, reference=(A,)), measure=measure, **more
        )
        assert score.value == pytest.approx(value)
        assert score.evidence == {measure: [score.value]}
    score = score_of(image_similarity, picture_trial(A, B, reference=(A, A)), most=50.0)
    assert score.value == pytest.approx((50 + expected["psnr",]) / 2)


@pytest.mark.parametrize(
    ("measure", "of_grey", "equal", "worst"),
    [
        ("psnr", 10 * np.log10(6.5025), 100, 0),
        ("mse", 10_000, 0, 65025),
        ("nrmse", 1, 0, 1),
        ("ssim", None, 1, 0),
    ],
)
def test_values_by_hand(
    measure: str, of_grey: float | None, equal: float, worst: float
) -> None:
    values = [
        score_of(
            image_similarity, picture_trial(*answer, reference=(GREY,)), measure=measure
        ).value
        for answer in ((BLACK,), (GREY,), (), (GREY, GREY), (DAMAGED,))
    ]
    assert values[1:] == [pytest.approx(equal), worst, worst, worst]
    assert of_grey is None or values[0] == pytest.approx(of_grey)
    assert bind(image_similarity, {"measure": measure}).metric.higher_is_better == (
        equal > worst
    )


def test_pictures_of_other_sizes_get_that_of_the_reference_or_the_lesser_of_both() -> (
    None
):
    wide, high = A[:20], B[:, :30]
    answer, reference = at_smaller_size(wide, high)
    value = metrics.peak_signal_noise_ratio(reference, answer, data_range=1)
    trial = picture_trial(wide, reference=(high,))
    assert score_of(image_similarity, trial, sizes="smaller").value == pytest.approx(
        value, abs=1e-4
    )
    assert score_of(image_similarity, trial).value != pytest.approx(value, abs=1e-4)


def test_what_is_too_small_or_black_is_wrong_in_an_answer_and_unscored_in_a_reference() -> (
    None
):
    small: dict[str, Any] = {"measure": "ssim", "gaussian": True, "sizes": "smaller"}
    assert (
        score_of(image_similarity, picture_trial(A[:10], reference=(A,)), **small).value
        == 0
    )
    unusable: list[tuple[Any, dict[str, Any]]] = [
        (A[:10], small),
        (BLACK, {"measure": "nrmse"}),
        (DAMAGED, {}),
    ]
    for reference, switches in unusable:
        score = score_of(
            image_similarity, picture_trial(GREY, reference=(reference,)), **switches
        )
        assert score.status == "unscored"
