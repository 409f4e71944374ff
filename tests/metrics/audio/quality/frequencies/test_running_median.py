import numpy as np
import pytest
from scipy.ndimage import median_filter

from mmeval.metrics.audio.quality.frequencies import running_median as module
from mmeval.metrics.audio.quality.frequencies.running_median import WINDOW, reflected, running_median


def test_it_equals_the_filter_of_scipy_and_mirrors_the_outermost_row(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(0).integers(0, 50, (333, 40)).astype(np.float32)
    wanted = median_filter(image, size=(WINDOW, 1), mode="reflect")
    assert np.array_equal(running_median(reflected(image)), wanted)
    monkeypatch.setattr(module, "_LANES", 1)
    assert np.array_equal(running_median(reflected(image)), wanted)
    found = reflected(np.array([[1.0], [2.0], [3.0]], np.float32), 2, 4)
    assert found[:, 0].tolist() == [2, 1, 1, 2, 3, 3, 2, 1, 1]
