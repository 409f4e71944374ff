"""NIQE's pristine model: the statistics of patches in undamaged photographs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.metrics.image.quality.aggd import Numbers

FILE = Path(__file__).with_name("pristine_model") / "niqe_pris_params.npz"


class PristineModel(NamedTuple):
    """The mean of the 36 features, and their covariance (36 x 36)."""

    mean: Numbers
    covariance: Numbers


@functools.cache
def pristine_model() -> PristineModel:
    """Loads NIQE's original model."""
    import numpy

    with numpy.load(FILE, allow_pickle=False) as stored:
        return PristineModel(stored["mu_pris_param"].ravel(), stored["cov_pris_param"])
