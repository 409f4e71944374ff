from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

from mmeval.metrics.image.quality.niqe import distance_of, niqe, niqe_of
from mmeval.metrics.image.quality.pristine import pristine_model
from mmeval.metrics.quality.items import UNSEEN
from tests.support.pictures import DAMAGED, even, picture_trial
from tests.support.trials import score_of, trial


def natural(height: int = 192, width: int = 192, seed: int = 0) -> Any:
    """Noise whose power falls with its frequency, as that of photographs does."""
    rng = np.random.RandomState(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    frequency[0, 0] = 1
    plane = np.real(
        np.fft.ifft2(np.fft.fft2(rng.standard_normal((height, width))) / frequency)
    )
    plane = 127 + 45 * (plane - plane.mean()) / plane.std()
    return np.clip(plane, 0, 255).round().astype(np.uint8)[..., None].repeat(3, axis=2)


def blurred(pixels: Any, radius: float) -> Any:
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(radius)))


def test_an_answers_value_is_the_mean_over_its_pictures_of_distances_weighted_by_both_covariances() -> (
    None
):
    one, other = natural(seed=1), blurred(natural(seed=2), 2)
    score = score_of(niqe, picture_trial(one, other))
    values = [niqe_of(one).niqe, niqe_of(other).niqe]
    assert None not in values
    assert score.value == pytest.approx(sum(value or 0 for value in values) / 2)
    assert [item["niqe"] for item in score.evidence["items"]] == values
    assert score.evidence["items"][0] == {
        "label": "image1",
        "niqe": values[0],
        "patches": 4,
        "of": 4,
    }
    rng = np.random.RandomState(0)
    found = pristine_model().mean + rng.standard_normal((50, 36))
    apart = found.mean(axis=0) - pristine_model().mean
    both = (np.cov(found.T) + pristine_model().covariance) / 2
    assert distance_of(found) == pytest.approx(
        float(np.sqrt(apart @ np.linalg.inv(both) @ apart))
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (natural(96, 191), "1 of the 2 patches"),
        (even(300, 300, (9, 9, 9)), " 9 patches"),
        (DAMAGED, "decoded"),
    ],
    ids=["one patch", "even", "damaged"],
)
def test_a_picture_without_a_distance_leaves_the_answer_unscored(
    answer: Any, words: str
) -> None:
    score = score_of(niqe, picture_trial(natural(), answer))
    assert score.status == "unscored"
    assert score.bounds is None
    assert words in score.reason
    assert score.evidence["items"][0]["niqe"] is not None


def test_a_named_picture_leaves_the_answer_unscored_and_rows_that_fill_no_patch_do_not_count() -> (
    None
):
    score = score_of(niqe, trial("<image1>"))
    assert score.status == "unscored"
    assert score.reason == f"image1: {UNSEEN}"
    assert score_of(niqe, trial("words")).status == "inapplicable"
    assert score_of(niqe, trial(None)).status == "unscored"
    picture = natural(200, 250)
    first = niqe_of(picture)
    assert first == niqe_of(picture[:192, :192])
    assert (niqe_of(blurred(picture, 4)).niqe or 0) > 1.3 * (first.niqe or 100)
