"""Two columns of values over the same trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.rated_trials import Places, in_order_of_appearance
from mmeval.trust.human_values import Given


@dataclass(frozen=True)
class PairedColumns:
    """A first and a second value of each trial, and the number of its cluster.

    Words are replaced by numbers that only tell whether two of them are equal. In that
    case ``are_numbers`` is False.
    """

    first: Values
    second: Values
    clusters: Places
    are_numbers: bool = True

    def __len__(self) -> int:
        return len(self.first)


def paired_columns(
    first: Sequence[Given],
    second: Sequence[Given],
    clusters: Sequence[str],
) -> PairedColumns:
    """Returns two columns of equal length. They are words if any value is a word."""
    are_numbers = True
    number_of: dict[Given, float] = {}
    for value in [*first, *second]:
        number_of.setdefault(value, float(len(number_of)))
        if isinstance(value, str):
            are_numbers = False

    def column(values: Sequence[Given]) -> Values:
        if are_numbers:
            return np.array(values, dtype=float)
        return np.array([number_of[value] for value in values], dtype=float)

    return PairedColumns(
        column(first), column(second), in_order_of_appearance(clusters), are_numbers
    )
