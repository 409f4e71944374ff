from __future__ import annotations

import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.contrast import bands, contrast_of, extremes

BINS = 1025


def test_the_bands_are_those_of_librosa() -> None:
    # Hz: 0..200, 200..400, ... 6400..24000; each but the first begins a bin early, each but the last ends one early.
    assert [tuple(band) for band in bands(BINS)] == [
        (0, 8, 1),
        (8, 17, 1),
        (17, 34, 1),
        (34, 68, 1),
        (68, 136, 1),
        (136, 273, 3),
        (273, 1025, 15),
    ]


def test_the_quantile_counts_the_bin_that_is_left_out() -> None:
    # 137 of 138 bins are looked at, of which 2.76 are rounded: three.
    assert bands(BINS)[5].size == round(0.02 * 138)


def test_peaks_and_valleys_are_means_of_the_outermost_bins() -> None:
    frame = np.arange(BINS, dtype=np.float32)[None]

    valleys, peaks = extremes(frame)

    assert valleys[0].tolist() == [0, 8, 17, 34, 68, 137, 280]
    assert peaks[0].tolist() == [7, 16, 33, 67, 135, 271, 1017]


def test_contrast_is_a_median_over_time_then_over_bands() -> None:
    valleys = np.ones((3, 7), np.float32)
    peaks = 10.0 ** np.array([[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7], [0] * 7], np.float32)

    assert contrast_of(valleys, peaks.astype(np.float32)) == pytest.approx(40)


def test_what_is_eighty_decibels_down_is_as_good_as_nothing() -> None:
    valleys, peaks = np.zeros((1, 7), np.float32), np.ones((1, 7), np.float32)

    # Of valleys the highest is -100 dB, which is where decibels begin.
    assert contrast_of(valleys, peaks) == 100
    valleys[0, 0] = 1.0
    assert contrast_of(valleys, peaks) == 80


def test_silence_has_no_contrast() -> None:
    assert contrast_of(np.zeros((4, 7), np.float32), np.zeros((4, 7), np.float32)) == 0
