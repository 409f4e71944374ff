"""The number of ratings for a corrected value with a given half width."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.estimate import Estimate, corrected
from mmeval.trust.correction.rated_trials import RatedTrials

_QUANTILE = 1.959964


@dataclass(frozen=True)
class Needed:
    """How many ratings a half width takes.

    ``ratings`` is None if not even ratings of all trials suffice. ``least_half_width``
    is the half width that ratings of all trials give.
    """

    ratings: int | None
    least_half_width: float


def ratings_needed(
    trials: RatedTrials,
    estimate: Estimate,
    half_width: float,
) -> Needed:
    """Returns how many trials must be rated, drawn with equal probability.

    ``estimate`` is the corrected value of the trials, which form one stratum.
    """
    weights = np.array(estimate.weights[0])
    residual_variance, explained_variance = _variances(trials, weights)
    effect = _design_effect(trials, estimate)

    per_variance = _QUANTILE**2 * effect
    of_all = explained_variance / trials.count
    least = math.sqrt(per_variance * (residual_variance / trials.count + of_all))
    room = half_width**2 / per_variance - of_all
    if room <= residual_variance / trials.count:
        return Needed(None, least)
    return Needed(math.ceil(residual_variance / room), least)


def _variances(trials: RatedTrials, weights: Values) -> tuple[float, float]:
    """Returns the variance that each rating adds, and the variance that each trial
    adds.

    The human value is what the proxies explain plus a residual. The first is known for
    all trials, the second for the rated ones.
    """
    is_rated = trials.is_rated
    shares = trials.weights[is_rated]
    shares = shares / shares.sum()
    proxies = trials.proxies[is_rated]
    residuals = trials.human[is_rated] - proxies @ weights
    residuals = residuals - shares @ residuals
    rated = trials.rated
    freedom = max(1, rated - 1 - len(weights))
    residual_variance = float(shares @ residuals**2) * rated / freedom

    covariance = (shares * residuals) @ (proxies - shares @ proxies)
    covariance = covariance * rated / (rated - 1)
    of_proxies = np.atleast_2d(np.cov(trials.proxies, rowvar=False))
    explained = float(weights @ of_proxies @ weights + 2 * weights @ covariance)
    return residual_variance, explained


def _design_effect(trials: RatedTrials, estimate: Estimate) -> float:
    """Returns how much larger the variance is because trials share clusters."""
    if trials.cluster_count == trials.count:
        return 1.0
    alone = replace(trials, clusters=np.arange(trials.count))
    independent = corrected(alone).stderr
    return (estimate.stderr / independent) ** 2 if independent else 1.0
