"""The pristine model of NIQE: the statistics of patches of undamaged photographs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.metrics.image.quality.aggd import Numbers

FILE = Path(__file__).with_name("pristine_model") / "niqe_pris_params.npz"


class Pristine(NamedTuple):
    """The mean of the 36 features, and their covariance (36 x 36)."""

    mean: Numbers
    covariance: Numbers


@functools.cache
def pristine() -> Pristine:
    """The original model."""
    import numpy

    with numpy.load(FILE, allow_pickle=False) as found:
        return Pristine(found["mu_pris_param"].ravel(), found["cov_pris_param"])
