"""The agreement of a judge that always gives the same answer, for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from mmeval.trust.human_values import Given


@dataclass(frozen=True)
class ConstantJudge:
    """What the best constant answer reaches. Its kappa is 0 and its correlation
    unknown. Words have no errors and no order."""

    answer: Given
    accuracy: float
    mean_absolute_error: float | None = None
    pairwise_accuracy: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


def constant_judge(human: Sequence[Given]) -> ConstantJudge | None:
    """Returns the constant answer for some human values, or None without a value.

    The answer is the most frequent value; of equally frequent ones, the first by its
    text. The error is that around the median.
    """
    if not human:
        return None
    counts = Counter(human)
    most = max(counts.values())
    frequent = [value for value, count in counts.items() if count == most]
    answer = min(frequent, key=str)
    share = most / len(human)
    numbers = [value for value in human if not isinstance(value, str)]
    if len(numbers) < len(human):
        return ConstantJudge(answer, share)
    # the median is the constant answer with the smallest mean absolute error
    errors = np.abs(np.array(numbers) - median(numbers))
    return ConstantJudge(answer, share, float(errors.mean()), _tied_share(counts))


def _tied_share(counts: Counter[Given]) -> float | None:
    total = counts.total()
    if total < 2:
        return None
    tied = sum(count * (count - 1) for count in counts.values())
    return tied / (total * (total - 1))
