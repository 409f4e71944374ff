import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mmeval.media import Interleaved
from mmeval.metrics.image.ssim import ssim, ssim_of
from tests.support.pictures import (
    DAMAGED,
    by_scikit_image,
    even,
    medium,
    noise,
    picture_trial,
    shown,
)
from tests.support.trials import score_of, trial

A, B = noise(40, 56, 1), noise(40, 56, 2)
WHITE = (255, 255, 255)


@pytest.mark.parametrize("size", [(7, 7), (7, 300), (131, 97), (1300, 90)], ids=str)
def test_it_agrees_with_scikit_image(size: tuple[int, int]) -> None:
    one, flat = noise(*size), even(*size, (12, 200, 255))
    for other in (
        noise(*size, seed=9),
        255 - one,
        flat,
        np.clip(one.astype(int) + 1, 0, 255).astype(np.uint8),
    ):
        assert ssim_of(one, other) == pytest.approx(
            by_scikit_image(one, other), abs=1e-6
        )
    assert ssim_of(flat, even(*size, WHITE)) == pytest.approx(
        by_scikit_image(flat, even(*size, WHITE)), abs=1e-6
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(7, 40), st.integers(7, 40), st.integers(0, 10**6))
def test_it_is_symmetric_within_its_range_and_one_for_equal_pictures(
    height: int, width: int, seed: int
) -> None:
    rng = np.random.RandomState(seed)
    one, other = (
        rng.randint(0, 256, (height, width, 3)).astype(np.uint8) for _ in range(2)
    )
    assert ssim_of(one, other) == ssim_of(other, one)
    assert -1 <= ssim_of(one, other) < 1
    assert ssim_of(one, one) == 1


def test_the_pictures_of_both_sides_are_compared_in_order_and_resized_by_lanczos() -> (
    None
):
    score = score_of(ssim, picture_trial(A, B, reference=(A, A)))
    assert score.evidence == {
        "ssim": [1.0, pytest.approx(by_scikit_image(B, A), abs=1e-6)]
    }
    assert score.value == pytest.approx((1 + by_scikit_image(B, A)) / 2, abs=1e-6)
    by_hand = np.asarray(
        Image.fromarray(A[:20, :30]).resize((56, 40), Image.Resampling.LANCZOS)
    )
    score = score_of(ssim, picture_trial(A[:20, :30], reference=(A,)))
    assert score.value == pytest.approx(by_scikit_image(by_hand, A), abs=1e-6)
    named = Interleaved.from_text(
        "<<image1>> and again <<image1>>", {"image1": medium(A)}
    )
    assert score_of(ssim, trial(named, shown(A))).value == 1
    assert score_of(ssim, trial(None, shown(A))).status == "unscored"
    assert (
        -1
        <= (score_of(ssim, picture_trial(A[:1, :1], reference=(A,))).value or 0)
        < 0.5
    )


def test_an_answer_without_the_right_pictures_is_zero_and_data_without_them_unscored() -> (
    None
):
    for answer in ((A,), (A, A, A), (A, DAMAGED)):
        score = score_of(ssim, picture_trial(*answer, reference=(A, A)))
        assert score.value == 0
        assert list(score.evidence) == ["reason"]
    for reference in ((), (DAMAGED,), (A[:6],), (A, A[:, :6])):
        score = score_of(
            ssim, picture_trial(*((A,) * len(reference)), reference=reference)
        )
        assert score.status == "unscored"
    assert score_of(ssim, picture_trial(A, reference=(A[:7],))).status == "scored"
