"""Computes all statistics of agreement of two columns, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.agreement.columns import PairedColumns
from mmeval.trust.agreement.jackknife import (
    AgreementStatistic,
    Scale,
    groups_of,
    jackknifed,
    statistic_of_mean,
)
from mmeval.trust.agreement.order import (
    kendall,
    kendall_without,
    pairwise_accuracy,
    pairwise_accuracy_without,
)
from mmeval.trust.agreement.statistics import (
    accuracy,
    kappa,
    kappa_linear,
    kappa_quadratic,
    pearson,
    spearman,
)
from mmeval.trust.correction.mean import clustered_mean
from mmeval.trust.correction.rated_trials import NO_RANGE, Places

Statistic = Callable[[Values, Values], float | None]
_Without = Callable[[Values, Values, Sequence[Places]], list[float | None]]

PLAIN: Mapping[str, Statistic] = MappingProxyType(
    {
        "accuracy": accuracy,
        "kappa": kappa,
        "pearson": pearson,
        "spearman": spearman,
        "kendall": kendall,
    }
)
"""The statistics of raters, which have no interval."""
OF_WORDS = ("accuracy", "kappa")
"""The statistics that words have. Numbers have all."""


class _Jackknifed(NamedTuple):
    """A statistic, its values without each group, and the scale of its spread."""

    whole: Statistic
    without: _Without
    scale: Scale


def measure(columns: PairedColumns) -> dict[str, AgreementStatistic]:
    """Returns the statistics by name, the first column against the second one.

    Words have ``accuracy`` and ``kappa`` alone.
    """
    statistics = {}
    for name, jackknife in _JACKKNIFED.items():
        if columns.are_numbers or name in OF_WORDS:
            statistics[name] = _with_interval(columns, jackknife)
    is_equal = (columns.first == columns.second).astype(float)
    measured = {"accuracy": _mean(is_equal, columns, (0.0, 1.0)), **statistics}
    if columns.are_numbers:
        error = columns.first - columns.second
        measured["mean_error"] = _mean(error, columns, NO_RANGE)
        measured["mean_absolute_error"] = _mean(np.abs(error), columns, NO_RANGE)
    return measured


def _mean(
    values: Values, columns: PairedColumns, limits: tuple[float, float]
) -> AgreementStatistic:
    if len(values) == 0:
        return AgreementStatistic(None, why="no trial has both values")
    return statistic_of_mean(clustered_mean(values, columns.clusters, limits))


def _with_interval(
    columns: PairedColumns, jackknife: _Jackknifed
) -> AgreementStatistic:
    value = jackknife.whole(columns.first, columns.second)
    if value is None:
        return AgreementStatistic(None, why=_why_undefined(columns))
    groups = groups_of(columns.clusters)
    without = jackknife.without(columns.first, columns.second, groups)
    return jackknifed(value, without, jackknife.scale)


def _why_undefined(columns: PairedColumns) -> str:
    if len(columns) < 3:
        return "too few trials have both values"
    return "a column has only one value"


def _one_by_one(statistic: Statistic) -> _Without:
    def without(
        first: Values, second: Values, groups: Sequence[Places]
    ) -> list[float | None]:
        values = []
        for group in groups:
            others_first = np.delete(first, group)
            others_second = np.delete(second, group)
            values.append(statistic(others_first, others_second))
        return values

    return without


_JACKKNIFED: Mapping[str, _Jackknifed] = MappingProxyType(
    {
        "kappa": _Jackknifed(kappa, _one_by_one(kappa), "kappa"),
        "kappa_linear": _Jackknifed(kappa_linear, _one_by_one(kappa_linear), "kappa"),
        "kappa_quadratic": _Jackknifed(
            kappa_quadratic, _one_by_one(kappa_quadratic), "kappa"
        ),
        "pearson": _Jackknifed(pearson, _one_by_one(pearson), "correlation"),
        "spearman": _Jackknifed(spearman, _one_by_one(spearman), "correlation"),
        "kendall": _Jackknifed(kendall, kendall_without, "correlation"),
        "pairwise_accuracy": _Jackknifed(
            pairwise_accuracy, pairwise_accuracy_without, "plain"
        ),
    }
)
