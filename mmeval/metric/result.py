"""What a metric returned, as scores that bounds and readers can rely on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mmeval.errors import PluginError
from mmeval.records.score import Score

ROUNDING = 1e-6
"""How far beyond its range a value may lie: floating point sums of ones are not always one."""

MetricScores: TypeAlias = Mapping[str, Score]
"""What one metric says of one trial, by output name: one entry for most, several for a metric with sub-scores."""


def scores_of(result: Any, name: str, outputs: Sequence[str], spread: tuple[float, float]) -> MetricScores:
    """What the metric ``name`` returned, a number, a ``Score`` or a mapping of its ``outputs`` to either, as scores.
    ``spread`` is its range. Raises PluginError for other outputs than these."""
    if not isinstance(result, Mapping):
        if len(outputs) != 1:
            raise PluginError(f"the metric {name!r} must return a mapping with {list(outputs)}")
        return {outputs[0]: _checked(result, spread)}
    if set(result) != set(outputs):
        raise PluginError(f"the metric {name!r} returned {sorted(result)}, not {sorted(outputs)}")
    return {output: _checked(value, spread) for output, value in result.items()}


def _checked(value: Any, spread: tuple[float, float]) -> Score:
    """A value as a score. One that is no number, or outside the range, is none: bounds and readers rely on it."""
    score = value if isinstance(value, Score) else Score(value=float(value))
    if score.status != "scored":
        return _bounded(score, spread)
    low, high = spread
    if score.value is None or not math.isfinite(score.value):
        return replace(score, value=None, status="unscored", reason=f"the metric gave {score.value}")
    if not low - ROUNDING <= score.value <= high + ROUNDING:
        reason = f"the metric gave {score.value:g}, outside its range {low:g}..{high:g}"
        return replace(score, value=None, status="unscored", reason=reason)
    return score if type(score.value) is float else replace(score, value=float(score.value))


def _bounded(score: Score, spread: tuple[float, float]) -> Score:
    """A score with bounds that lie in the range, or without any: then the whole range stands for it."""
    if score.bounds is None:
        return score
    (low, high), (lowest, highest) = score.bounds, spread
    finite = math.isfinite(low) and math.isfinite(high)
    if finite and lowest - ROUNDING <= low <= high <= highest + ROUNDING:
        return score
    reason = f"{score.reason} (its bounds {low:g}..{high:g} are left out: its range is {lowest:g}..{highest:g})"
    return replace(score, bounds=None, reason=reason)


def writable(score: Score) -> Score:
    """A score whose evidence JSON can hold; a metric that gives something else leaves the trial unscored."""
    from mmeval.system.json_lines import to_line  # with fast JSON, which a task file needs not

    try:
        to_line(score.to_json())
    except TypeError as error:
        return Score.unscored(f"the metric's evidence cannot be written: {error}")
    return score
