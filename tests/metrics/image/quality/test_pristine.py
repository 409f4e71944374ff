from pathlib import Path

import numpy as np
import pytest

from mmeval.errors import MissingDataError
from mmeval.metrics.image.quality import pristine as module
from mmeval.metrics.image.quality.pristine import FILE, pristine


def test_it_is_the_model_of_the_original_release() -> None:
    model = pristine()
    assert (model.mean.shape, model.covariance.shape) == ((36,), (36, 36))
    assert model.mean[0] == pytest.approx(2.60131, abs=1e-5)
    assert np.linalg.matrix_rank(model.covariance) == 36
    assert (model.covariance == model.covariance.T).all()


@pytest.mark.parametrize("change", ["gone", "other"])
def test_a_file_that_is_not_the_model_is_refused(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.npz"
    if change == "other":
        file.write_bytes(FILE.read_bytes() + b"\0")
    monkeypatch.setattr(module, "FILE", file)
    pristine.cache_clear()
    with pytest.raises(MissingDataError):
        pristine()
    pristine.cache_clear()
