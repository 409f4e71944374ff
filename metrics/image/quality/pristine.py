"""The pristine model of NIQE: the statistics of patches of undamaged photographs."""

from __future__ import annotations

import functools
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mmeval.errors import MissingDataError

if TYPE_CHECKING:
    from mmeval.metrics.image.quality.aggd import Numbers

FILE = Path(__file__).with_name("pristine_model") / "niqe_pris_params.npz"
SHA256 = "2a7c182a68c9e7f1b2e2e5ec723279d6f65d912b6fcaf37eb2bf03d7367c4296"


class Pristine(NamedTuple):
    """The mean of the 36 features, and their covariance (36 x 36)."""

    mean: Numbers
    covariance: Numbers


@functools.cache
def pristine() -> Pristine:
    """The original model. Raises MissingDataError for a missing or another file."""
    import numpy

    try:
        data = FILE.read_bytes()
    except OSError as error:
        raise MissingDataError(f"{FILE}: {error.strerror}; install mmeval again") from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise MissingDataError(f"{FILE}: not the file that mmeval comes with; install mmeval again")
    with numpy.load(io.BytesIO(data), allow_pickle=False) as found:
        return Pristine(found["mu_pris_param"].ravel(), found["cov_pris_param"])
