import hashlib

import numpy as np
import pytest

from mmeval.metrics.image.quality.pristine import FILE, pristine_model

RELEASED = "2a7c182a68c9e7f1b2e2e5ec723279d6f65d912b6fcaf37eb2bf03d7367c4296"


def test_it_is_the_model_of_the_original_release() -> None:
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == RELEASED
    model = pristine_model()
    assert model.mean.shape == (36,)
    assert model.covariance.shape == (36, 36)
    assert model.mean[0] == pytest.approx(2.60131, abs=1e-5)
    assert np.linalg.matrix_rank(model.covariance) == 36
    assert (model.covariance == model.covariance.T).all()
