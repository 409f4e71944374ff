"""The expected numbers without another source are those of OpenCV 4.12."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import correlate1d

from mmeval.metrics.image.quality.opencv import WINDOWS, blurred, fused, grey, halved, mirrored, window
from tests.support.pictures import noise

NUMBERS = st.floats(-1e6, 1e6).map(lambda number: number if abs(number) > 1e-6 else 0.0)


def test_grey_is_fixed_point_and_two_by_two_become_one() -> None:
    colors = np.array([[[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [1, 2, 3], [89, 101, 93]]], np.uint8)
    assert grey(colors).tolist() == [[255, 76, 150, 29, 2, 97]]
    pixels = np.array([[[1], [2]], [[2], [1]], [[0], [255]], [[255], [0]]], np.uint8).repeat(3, axis=2)
    assert halved(pixels)[..., 0].tolist() == [[2], [128]]
    odd = np.tile(np.array([10, 20, 30, 40, 50], np.uint8)[None, :, None], (2, 1, 3))
    # Centres at .75 and 3.25: 17.5 and 42.5.
    assert halved(odd)[..., 0].tolist() == [[18, 43]]
    assert halved(odd.swapaxes(0, 1))[..., 0].tolist() == [[18], [43]]


@pytest.mark.parametrize("deviation", WINDOWS)
def test_a_blur_is_gaussian_and_mirrors_the_picture_at_its_borders(deviation: float) -> None:
    away = np.arange(-3, 4)
    gaussian = np.exp(-(away**2) / (2 * deviation**2))
    assert window(deviation) == pytest.approx(gaussian / gaussian.sum(), rel=1e-14)
    for size in ((40, 56), (2, 3), (1, 9)):
        picture = noise(*size)[..., 0]
        by_scipy: Any = picture.astype(float)
        for axis in (0, 1):
            by_scipy = correlate1d(by_scipy, window(deviation), axis=axis, mode="mirror")
        assert blurred(mirrored(picture, 0, size[0]), deviation) == pytest.approx(by_scipy, abs=1e-10)


@settings(max_examples=50, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_fused_product_is_rounded_once(factor: float, number: float, added: float) -> None:
    exact = Fraction(factor) * Fraction(number) + Fraction(added)
    assert fused(factor, np.array([number]), np.array([added]))[0] == float(exact)


def test_strips_have_no_seam_and_what_rounding_leaves_is_that_of_opencv() -> None:
    y, x = np.mgrid[0:5, 0:40]
    rising = (3 * x + 5 * y).astype(np.uint8)
    even = [np.full((9, 9), shade, np.uint8) for shade in (7, 77, 255)]
    assert [float(blurred(mirrored(one, 0, 9), 1.16)[4, 4] - one[4, 4]) for one in even] == [0, 2**-46, 2**-45]
    assert (blurred(mirrored(rising, 0, 5), 1.16) - rising)[2, 10:16].tolist() == [2**-47] * 3 + [0] * 3
    picture = noise(40, 56)[..., 0]
    strips = [blurred(mirrored(picture, top, min(top + 9, 40)), 1.16) for top in range(0, 40, 9)]
    assert (np.concatenate(strips) == blurred(mirrored(picture, 0, 40), 1.16)).all()
