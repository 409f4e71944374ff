from typing import Any

import numpy as np
import pytest
from scipy.ndimage import convolve
from scipy.special import gamma

from mmeval.metrics.image.quality import scene_statistics as of
from mmeval.metrics.image.quality.aggd import Fit, fitted, moments_of
from tests.support.pictures import noise


def test_brightness_is_rounded_and_what_fills_no_patch_has_no_features() -> None:
    colors = np.array(
        [[[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 20, 30]]],
        np.uint8,
    )
    assert of.luma(colors).tolist() == [[255, 76, 150, 29, 18]]
    grey = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert of.luma(grey).tolist() == [list(range(256))]
    for size, left in {
        (95, 300): (0, 288),
        (96, 96): (96, 96),
        (193, 291): (192, 288),
    }.items():
        picture = np.arange(size[0] * size[1]).reshape(size)
        assert np.array_equal(of.cropped(picture), picture[: left[0], : left[1]])
    for size in ((1, 1), (95, 400), (400, 95)):
        assert of.features(of.luma(noise(*size))).shape == (0, 36)
    for shade in (0, 77, 255):
        assert (
            not np.isfinite(of.features(np.full((96, 192), shade, np.uint8)))
            .all(axis=1)
            .any()
        )


def test_values_are_set_off_against_a_window_of_seven_by_seven() -> None:
    picture = of.luma(noise(60, 50)).astype(float)
    y, x = np.mgrid[-3:4, -3:4]
    gaussian = np.exp(-(x**2 + y**2) / (2 * (7 / 6) ** 2))
    gaussian /= gaussian.sum()
    mean = convolve(picture, gaussian, mode="nearest")
    deviation = np.sqrt(
        np.abs(convolve(picture**2, gaussian, mode="nearest") - mean**2)
    )
    assert of.normalised(picture, range(60), range(50)) == pytest.approx(
        (picture - mean) / (deviation + 1), abs=1e-9
    )


def test_the_pieces_that_are_worked_on_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    picture = of.luma(noise(192, 480))
    found = of.features(picture)
    monkeypatch.setattr(of, "AT_ONCE", 1)
    assert of.features(picture) == pytest.approx(found, rel=1e-12)


def test_half_the_size_is_a_cubic_that_keeps_straight_lines_and_mirrors_the_borders() -> (
    None
):
    # By hand: (1.5 d^3 - 2.5 d^2 + 1) / 2 at d = 1/4 and 3/4; (-.5 d^3 + 2.5 d^2 - 4 d
    # + 2) / 2 at d = 5/4 and 7/4.
    half = [-0.01171875, -0.03515625, 0.11328125, 0.43359375]
    assert of.halving_kernel() == pytest.approx([*half, *half[::-1]])
    y, x = np.mgrid[0:192, 0:96].astype(float)
    found = of.halved(2 * y + 3 * x)
    inner = (slice(2, -2), slice(2, -2))
    assert found.shape == (96, 48)
    assert found[inner] == pytest.approx(
        (2 * (2 * y + 0.5) + 3 * (2 * x + 0.5))[:96, :48][inner]
    )
    step = np.array([10.0, 20, 30, 40, 50, 60, 70, 80] * 12)
    mirrored = np.concatenate([step[2::-1], step, step[:-4:-1]])
    by_hand = [mirrored[at : at + 8] @ of.halving_kernel() for at in range(0, 96, 2)]
    assert of.halved(np.tile(step, (96, 1)))[40] == pytest.approx(by_hand)


def fit_of(patch: Any) -> Fit:
    """Of a patch (entry 0) and its products with the neighbour to the right, below, and
    in two diagonals."""
    products = (
        patch * np.roll(patch, shift, (0, 1))
        for shift in ((0, 1), (1, 0), (1, 1), (1, -1))
    )
    return fitted(moments_of(np.array([one.ravel() for one in (patch, *products)])))


def test_thirty_six_numbers_of_each_patch_in_their_order() -> None:
    picture = of.luma(noise(192, 288))
    found = of.features(picture)
    half = of.halved(picture)
    large = fit_of(of.normalised(picture, range(96, 192), range(192, 288)))
    small = fit_of(of.normalised(half, range(48, 96), range(96, 144)))
    assert found.shape == (6, 36)
    for numbers, fit in ((found[5, :18], large), (found[5, 18:], small)):
        assert numbers[:2] == pytest.approx(
            [fit.shape[0], (fit.left[0] + fit.right[0]) / 2]
        )
        for at in range(1, 5):
            shape, left, right = fit.shape[at], fit.left[at], fit.right[at]
            mean = (right - left) * gamma(2 / shape) / gamma(1 / shape)
            assert numbers[4 * at - 2 : 4 * at + 2] == pytest.approx(
                [shape, mean, left, right]
            ), at
