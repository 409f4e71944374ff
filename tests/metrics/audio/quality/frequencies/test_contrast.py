import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.contrast import bands, contrast_of


def test_the_bands_are_those_of_librosa_and_contrast_is_a_median_over_time_then_over_bands() -> (
    None
):
    # Hz: 0..200, 200..400, ... 6400..24000; each but the first begins a bin early, each
    # but the last ends one early.
    starts, ends = (0, 8, 17, 34, 68, 136, 273), (8, 17, 34, 68, 136, 273, 1025)
    # Of the sixth band 2% of 138 bins count, the one that is left out included.
    assert [tuple(band) for band in bands(1025)] == list(
        zip(starts, ends, (1, 1, 1, 1, 1, 3, 15), strict=True)
    )
    ones, zeros = np.ones((1, 7), np.float32), np.zeros((1, 7), np.float32)
    peaks = 10.0 ** np.array(
        [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7], [0] * 7], np.float32
    )
    highest = zeros.copy()
    highest[0, 0] = 1.0
    assert contrast_of(
        np.ones((3, 7), np.float32), peaks.astype(np.float32)
    ) == pytest.approx(40)
    # the highest valley is at -100 dB, where decibels begin
    assert contrast_of(zeros, ones) == 100
    # more than 80 dB below the highest count as this
    assert contrast_of(highest, ones) == 80
    assert contrast_of(zeros, zeros) == 0
