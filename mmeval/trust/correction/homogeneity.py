"""Tests whether two judges differ by the same amount on all runs (Hotelling's T2)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.aggregate.resampling import Values

FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class Homogeneity:
    """The test's F, its p, and the number of samples that it rests on."""

    f: float
    p: float
    samples: int

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


def homogeneity(shifts: Values) -> Homogeneity | None:
    """Returns the test of equal mean shifts of all runs.

    ``shifts`` has a row for each sample and a column for each run. A small p says that
    the new judge favours some runs. Returns None with fewer than two runs, with fewer
    than 20 samples, and if the shifts of runs do not vary against each other.
    """
    from scipy import special

    samples, runs = shifts.shape
    if runs < 2 or samples < max(FEWEST_SAMPLES, runs + 1):
        return None
    differences = shifts[:, 1:] - shifts[:, :1]
    mean = differences.mean(axis=0)
    covariance = np.atleast_2d(np.cov(differences, rowvar=False))
    if np.linalg.matrix_rank(covariance) < runs - 1:
        return None
    squared_distance = samples * float(mean @ np.linalg.solve(covariance, mean))
    freedom = samples - runs + 1
    f = squared_distance * freedom / ((samples - 1) * (runs - 1))
    return Homogeneity(f, float(special.fdtrc(runs - 1, freedom, f)), samples)
