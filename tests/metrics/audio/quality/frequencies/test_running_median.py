from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import median_filter

from mmeval.metrics.audio.quality.frequencies import running_median as module
from mmeval.metrics.audio.quality.frequencies.running_median import WINDOW, reflected, running_median


def rows(count: int, width: int, seed: int = 0, kinds: int = 1000) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).integers(0, kinds, (count, width)).astype(np.float32)


@settings(max_examples=40)
@given(st.integers(1, 70), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([2, 5, 10**6]))
def test_it_is_the_median_of_each_window_whatever_the_ties(count: int, width: int, seed: int, kinds: int) -> None:
    padded = reflected(rows(count, width, seed, kinds))
    windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW, axis=0)
    assert np.array_equal(running_median(padded), np.median(windows, axis=2))


def test_it_equals_the_filter_of_scipy_however_much_is_done_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    image = rows(333, 40)
    wanted = median_filter(image, size=(WINDOW, 1), mode="reflect")
    assert np.array_equal(running_median(reflected(image)), wanted)
    monkeypatch.setattr(module, "_LANES", 1)
    assert np.array_equal(running_median(reflected(image)), wanted)


def test_the_mirror_repeats_the_outermost_row() -> None:
    found = reflected(np.array([[1.0], [2.0], [3.0]], np.float32), 2, 4)
    assert found[:, 0].tolist() == [2, 1, 1, 2, 3, 3, 2, 1, 1]
