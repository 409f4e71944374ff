"""Krippendorff's alpha: agreement of any number of raters, with missing ratings.

Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.agreement.jackknife import (
    AgreementStatistic,
    groups_of,
    jackknifed,
)
from mmeval.trust.correction.rated_trials import Places

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class AlphaUnits:
    """Values of at least two raters for each unit, one entry for each value.

    ``units`` numbers the units from 0, and ``clusters`` their clusters from 0, in the
    order in which they appear.
    """

    values: Values
    units: Places
    clusters: Places


def alpha(ratings: AlphaUnits, level: Level) -> AgreementStatistic:
    """Returns alpha with its jackknife interval, from at most 1.

    It is undefined without a unit, or if all values are equal.
    """
    every = np.arange(len(ratings.values), dtype=np.intp)
    value = _alpha(ratings, every, level)
    if value is None:
        return AgreementStatistic(None, why="no two ratings differ")
    without = []
    for group in groups_of(ratings.clusters):
        others = np.delete(every, group)
        without.append(_alpha(ratings, others, level))
    return jackknifed(value, without, "kappa")


def _alpha(ratings: AlphaUnits, places: Places, level: Level) -> float | None:
    if len(places) == 0:
        return None
    values = ratings.values[places]
    if values.min() == values.max():
        return None
    unit_of = np.unique(ratings.units[places], return_inverse=True)[1]
    if level == "nominal":
        return _nominal(values, unit_of)
    coordinates = _mid_positions(values) if level == "ordinal" else values
    return _squared(coordinates, unit_of)


def _nominal(values: Values, unit_of: Places) -> float:
    sizes = np.bincount(unit_of)
    _, counts = np.unique(values, return_counts=True)
    count = len(values)
    unequal = count**2 - float(np.square(counts).sum())
    by_chance = unequal / (count * (count - 1))

    both = np.column_stack((unit_of, values))
    cells, cell_counts = np.unique(both, axis=0, return_counts=True)
    equal_pairs = np.bincount(cells[:, 0].astype(np.intp), cell_counts**2.0)
    unequal_pairs = sizes**2.0 - equal_pairs
    observed = float((unequal_pairs / (sizes - 1)).sum()) / count
    return 1 - observed / by_chance


def _squared(coordinates: Values, unit_of: Places) -> float:
    """Returns alpha for squared distances.

    The squared distances of all ordered pairs among m numbers add up to 2 m times their
    squared distances from the mean.
    """
    sizes = np.bincount(unit_of)
    count = len(coordinates)
    apart = coordinates - coordinates.mean()
    # not a scalar product: its threads wait for each other on a busy machine
    squares = float(np.square(apart).sum())
    by_chance = 2 * squares / (count - 1)

    means = np.bincount(unit_of, coordinates) / sizes
    within = np.bincount(unit_of, np.square(coordinates - means[unit_of]))
    observed = float((2 * sizes * within / (sizes - 1)).sum()) / count
    return 1 - observed / by_chance


def _mid_positions(values: Values) -> Values:
    """Returns for each value the number of values below it and half of its equals."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    positions: Values = np.cumsum(counts) - counts / 2
    return positions[place]


def alpha_units(
    values_of_units: Sequence[Sequence[float]], cluster_of_units: Places
) -> AlphaUnits:
    """Returns the units as arrays."""
    sizes = [len(values) for values in values_of_units]
    flat: list[float] = []
    for values in values_of_units:
        flat += values
    numbers = np.arange(len(sizes), dtype=np.intp)
    return AlphaUnits(
        values=np.array(flat, dtype=float),
        units=np.repeat(numbers, sizes),
        clusters=np.repeat(cluster_of_units, sizes),
    )
