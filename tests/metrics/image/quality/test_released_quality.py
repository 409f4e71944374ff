from typing import Any

import cv2
import numpy as np
import pytest
from scipy.special import gamma

from mmeval.metrics.image.quality import released_quality as of
from tests.support.pictures import even, noise


def grey(pixels: Any) -> Any:
    return cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)


def test_an_even_picture_scores_as_high_as_any_and_the_ratio_of_shapes_is_the_scripts_own() -> (
    None
):
    found = of.released_quality(even(200, 200, (128, 128, 128)))
    assert found is not None
    assert (
        found.features_scale1
        == (*of.NOTHING, *(*of.NOTHING, *of.NOTHING, *of.NOTHING, 0.0) * 4)
        == found.features_scale2
    )
    assert found.score == 89.53
    assert found.niqe == 10
    assert round(100 - found.brisque, 2) == 89.53
    assert [
        of.brisque_stand_in(one) for one in ((1.0,) * 60, (1.5, 0.5) * 30, (11.0,) * 60)
    ] == [0, 10, 100]
    shape, spread = of._shape_and_spread(of._Sums.of(np.array([1.0, -1, 2, -2])))
    ratio = 1.5 / 2.5**0.5
    assert abs(gamma(1 / shape) / gamma(2 / shape) - ratio) < 2e-3
    assert spread == pytest.approx((gamma(1 / shape) / gamma(3 / shape)) ** 0.5)


def test_products_go_around_the_whole_picture_and_strips_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    picture = grey(noise(61, 40))
    values = of._normalised(picture, of.SIGMA, of._absolute)
    found = of.brisque_features(picture)
    for number, shift in enumerate([(0, 1), (1, 0), (1, 1), (-1, 1)]):
        products = values * np.roll(values, shift, (0, 1))
        sides = [
            of._Sums.of(part)
            for part in (products[products < 0], products[products > 0])
        ]
        wanted = [term for side in sides for term in of._shape_and_spread(side)]
        assert found[4 + 7 * number : 9 + 7 * number] == pytest.approx(
            [*wanted, products.mean()]
        ), shift
    monkeypatch.setattr(of, "STRIP", 400)
    assert of.brisque_features(picture) == pytest.approx(found, abs=1e-12)
    assert np.array_equal(of._normalised(picture, of.SIGMA, of._absolute), values)


def test_a_deviation_below_one_counts_as_one_and_a_variance_below_zero_is_turned_over_or_nothing() -> (
    None
):
    picture = np.full((20, 20), 100, np.uint8)
    picture[10, 10] = 101
    values = of._normalised(picture, of.SIGMA, of._absolute)
    assert values[10, 10] == pytest.approx(
        101 - cv2.GaussianBlur(picture.astype(float), (7, 7), 1.16)[10, 10]
    )
    variance: Any = np.array([-4.0, 4.0])
    assert of._absolute(variance).tolist() == [4, 4]
    assert of._not_negative(variance).tolist() == [0, 4]


def test_the_stand_in_for_niqe_is_a_distance_that_needs_a_patch_that_is_not_flat() -> (
    None
):
    assert of.niqe_stand_in(np.full((200, 200), 9, np.uint8)) == 10
    assert of.niqe_stand_in(grey(noise(96, 300))) == 10
    assert 0.1 <= of.niqe_stand_in(grey(noise(97, 97))) < 10
    faint = np.full((97, 97), 9, np.uint8)
    faint[::2] = 10  # a deviation of .5, which is not above it
    assert of.niqe_stand_in(faint) == 10
    faint[::2] = 11
    assert of.niqe_stand_in(faint) < 10
    picture = grey(noise(97, 97))
    mean, spread, low, high, size, top, bottom = of._patch_statistics(picture[:96, :96])
    far = np.array(
        [
            abs(mean),
            2 * abs(spread - 1),
            abs(low + 0.7),
            abs(high - 0.7),
            1.5 * abs(size - 0.8),
        ]
    ).sum()
    far += abs(top - 3) + abs(bottom + 3)
    # of one patch, none
    spreads = 0.5 * (0.1 + 2 * 0.5 + 0.5 + 0.5 + 1.5 * 0.3 + 1 + 1)
    assert of.niqe_stand_in(picture) == pytest.approx(1.5 * (far + spreads) / 8.5)


def test_the_last_patch_that_fits_is_left_out_and_only_the_first_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: dict[int, list[int]] = {96: [], 97: [0], 144: [0], 145: [0, 48]}
    assert {side: list(of.patch_starts(side)) for side in starts} == starts
    monkeypatch.setattr(of, "MOST_PATCHES", 3)
    calm = grey(noise(97, 48 * 3 + 97))
    wild, wilder = calm.copy(), calm.copy()
    wild[:, 48 * 2 + 96 :] = 255 - wild[:, 48 * 2 + 96 :] // 2
    wilder[:, 48 * 2 + 80 :] = 255 - wilder[:, 48 * 2 + 80 :] // 2
    assert of.niqe_stand_in(wild) == of.niqe_stand_in(calm)
    assert of.niqe_stand_in(wilder) != of.niqe_stand_in(calm)


def test_the_script_fails_with_one_pixel_a_side_and_small_pictures_have_finite_numbers() -> (
    None
):
    assert [of.released_quality(noise(*size)) for size in ((1, 50), (50, 1))] == [
        None,
        None,
    ]
    for size in ((2, 2), (70, 2)):
        found = of.released_quality(noise(*size))
        assert found is not None
        assert np.isfinite(
            [found.brisque, found.niqe, *found.features_scale1, *found.features_scale2]
        ).all()
