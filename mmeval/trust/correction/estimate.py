"""Corrects an automatic score by few ratings: prediction-powered inference.

The mean of all automatic scores is moved by the mean error on the rated trials, with a
weight ``lambda`` for each proxy that makes the variance small. A bad proxy gets a
weight near 0, so the correction is never much wider than the ratings alone.

Source: Angelopoulos, Duchi and Zrnic, PPI++: Efficient Prediction-Powered Inference,
2023. Theirs is written over the unrated trials, ours over all of them; the estimate is
the same. Strata: Fisch et al., Stratified Prediction-Powered Inference, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.rated_trials import (
    NO_RANGE,
    ROUNDING,
    Places,
    Range,
    RatedTrials,
    Stratum,
    cluster_sums,
    interval,
    sandwich,
)

_CONSTANT = 1e-12
"""A proxy with at most this variance predicts nothing, and gets the weight 0."""
_COLLINEAR = 1e-10


@dataclass(frozen=True)
class Estimate:
    """A mean human value, with the trials' influences on it.

    ``stderr`` and ``ci95`` are of the mean over samples such as these. ``stderr_run``
    and ``ci95_run`` are of the mean over exactly these trials. ``weights`` has the
    weights of the proxies in each stratum. ``influences`` sum up to the error of the
    value, cluster by cluster.
    """

    value: float
    stderr: float
    stderr_run: float
    freedom: float
    weights: tuple[tuple[float, ...], ...]
    influences: Values = field(repr=False, compare=False)
    limits: Range = NO_RANGE
    are_all_rated: bool = False

    @property
    def ci95(self) -> Range | None:
        """The 95 % interval for samples such as these. It is None if no two ratings
        differ, which says little about further ratings."""
        if self.stderr < ROUNDING:
            return None
        return interval(self.value, self.stderr, self.freedom, self.limits)

    @property
    def ci95_run(self) -> Range | None:
        """The 95 % interval for exactly these trials. If all are rated, it has no
        width. Otherwise it is None if no two ratings differ."""
        if self.stderr_run < ROUNDING and not self.are_all_rated:
            return None
        return interval(self.value, self.stderr_run, self.freedom, self.limits)

    def to_json(self) -> dict[str, Any]:
        """Returns the value with both errors and both intervals."""
        return {
            "value": self.value,
            "stderr": self.stderr,
            "ci95": self.ci95,
            "stderr_run": self.stderr_run,
            "ci95_run": self.ci95_run,
        }


@dataclass(frozen=True)
class _StratumEstimate:
    """The estimate of one stratum, and what its variance is made of.

    ``residuals`` are the rated trials' human values without what the proxies explain,
    as distances from their weighted mean. ``shares`` are the trials' shares of all
    weights; both are 0 for unrated trials.
    """

    stratum: Stratum
    value: float
    weights: Values
    explained: Values
    residuals: Values
    shares: Values
    rated: int
    rated_clusters: int


def corrected(trials: RatedTrials, limits: Range = NO_RANGE) -> Estimate:
    """Returns the mean human value, estimated from ratings and proxies.

    Every stratum needs at least two rated clusters.
    """
    parts = []
    for stratum in trials.each_stratum():
        parts.append(_of_stratum(trials, stratum, uses_proxies=True))
    return _combined(trials, parts, trials.proxies.shape[1], limits)


def people_alone(trials: RatedTrials, limits: Range = NO_RANGE) -> Estimate:
    """Returns the mean human value, estimated from the ratings alone.

    Every stratum needs at least two rated clusters.
    """
    parts = []
    for stratum in trials.each_stratum():
        parts.append(_of_stratum(trials, stratum, uses_proxies=False))
    # counted as one proxy of weight 0, so that both estimates have the same freedom
    # when there is one proxy
    return _combined(trials, parts, 1, limits)


def _of_stratum(
    trials: RatedTrials, stratum: Stratum, *, uses_proxies: bool
) -> _StratumEstimate:
    places = stratum.places
    is_rated = trials.is_rated[places]
    proxies = trials.proxies[places]
    draw_weights = np.where(is_rated, trials.weights[places], 0.0)
    shares = draw_weights / draw_weights.sum()
    human = np.where(is_rated, trials.human[places], 0.0)

    weights = np.zeros(proxies.shape[1])
    if uses_proxies:
        weights = _weights_of_proxies(
            proxies,
            human,
            is_rated.astype(float),
            draw_weights,
            stratum.cluster_of if trials.are_clusters_whole else None,
        )
    unexplained = np.where(is_rated, human - proxies @ weights, 0.0)
    mean_unexplained = float(shares @ unexplained)
    mean_proxies = proxies.mean(axis=0)
    rated_clusters = np.unique(stratum.cluster_of[is_rated])
    return _StratumEstimate(
        stratum=stratum,
        value=mean_unexplained + float(mean_proxies @ weights),
        weights=weights,
        explained=(proxies - mean_proxies) @ weights,
        residuals=np.where(is_rated, unexplained - mean_unexplained, 0.0),
        shares=shares,
        rated=int(is_rated.sum()),
        rated_clusters=len(rated_clusters),
    )


def _weights_of_proxies(
    proxies: Values,
    human: Values,
    rated: Values,
    draw_weights: Values,
    clusters: Places | None,
) -> Values:
    """Returns the weights that make the variance of the stratum's estimate smallest.

    They are the regression of the human values on the proxies: the proxies' variance is
    that of all trials, the covariance that of the rated ones. If trials were drawn as
    whole ``clusters``, covariances are those of cluster sums.
    """
    shares = draw_weights / draw_weights.sum()
    of_human = rated * (human - shares @ human)
    of_rated = rated[:, np.newaxis] * (proxies - shares @ proxies)
    of_all = proxies - proxies.mean(axis=0)
    if clusters is not None:
        of_human = cluster_sums(of_human, clusters)
        of_rated = cluster_sums(of_rated, clusters)
        of_all = cluster_sums(of_all, clusters)
        sizes = cluster_sums(np.ones_like(rated), clusters)
        draw_weights = cluster_sums(draw_weights, clusters) / sizes

    count = np.count_nonzero(draw_weights)
    variance = of_all.T @ of_all / (len(of_all) - 1)
    covariance = (draw_weights * of_human) @ of_rated / draw_weights.sum()
    covariance = covariance * count / (count - 1)
    varies = np.diag(variance) > _CONSTANT
    found = np.zeros(len(varies))
    if varies.any():
        found[varies] = np.linalg.lstsq(
            variance[np.ix_(varies, varies)], covariance[varies], rcond=_COLLINEAR
        )[0]
    return found


def _combined(
    trials: RatedTrials,
    parts: list[_StratumEstimate],
    proxies: int,
    limits: Range,
) -> Estimate:
    value = 0.0
    for part in parts:
        value += len(part.stratum.places) / trials.count * part.value

    influences = np.zeros(trials.count)
    variance_run = 0.0
    possible_freedom = 0
    freedom = 0
    for part in parts:
        size = len(part.stratum.places)
        stratum_share = size / trials.count
        among_all = (part.explained + part.value - value) / trials.count
        among_rated = part.shares * part.residuals
        influences[part.stratum.places] = among_all + stratum_share * among_rated

        of_clusters = cluster_sums(among_rated, part.stratum.cluster_of)
        left_over = max(1, part.rated_clusters - 1 - proxies)
        variance_run += (
            stratum_share**2
            * (1 - part.rated / size)
            * (part.rated_clusters / left_over)
            * float(of_clusters @ of_clusters)
        )
        possible_freedom += part.rated_clusters - 1
        freedom += part.rated_clusters - 1 - proxies

    freedom = max(1, freedom)
    of_clusters = cluster_sums(influences, trials.clusters)
    variance = sandwich(of_clusters, trials.cluster_count)
    variance *= possible_freedom / freedom
    return Estimate(
        value=value,
        stderr=math.sqrt(variance),
        stderr_run=math.sqrt(variance_run),
        freedom=freedom,
        weights=tuple(tuple(map(float, part.weights)) for part in parts),
        influences=influences,
        limits=limits,
        are_all_rated=trials.rated == trials.count,
    )
