"""Checks the return value of a metric and converts it to scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from mmeval.errors import PluginError
from mmeval.metric.contract import AGGREGATION, Metric
from mmeval.records.score import Score

ROUNDING = 1e-6
"""The distance by which a value may exceed its range because of rounding errors."""

MetricScores: TypeAlias = Mapping[str, Score]
"""The scores of one trial by one metric, by output name. Most metrics have one
output."""


def scores_of(result: Any, metric: Metric) -> MetricScores:
    """Converts the return value of a metric to scores, and checks its range.

    The value is a number, a ``Score``, or a mapping of the metric's ``outputs`` to
    either. Raises PluginError for other outputs.
    """
    name, outputs = metric.name, metric.outputs
    if not isinstance(result, Mapping):
        if len(outputs) != 1:
            raise PluginError(
                f"the metric {name!r} must return a mapping with {list(outputs)}"
            )
        return {outputs[0]: _checked(result, metric, outputs[0])}
    if set(result) != set(outputs):
        raise PluginError(
            f"the metric {name!r} must return {sorted(outputs)}, not {sorted(result)}"
        )
    return {output: _checked(value, metric, output) for output, value in result.items()}


def _checked(
    value: Any,
    metric: Metric,
    output: str,
) -> Score:
    """Returns a value as a score.

    The score is unscored if the value is not finite or outside the range.
    """
    try:
        score = value if isinstance(value, Score) else Score(value=float(value))
    except (TypeError, ValueError):
        raise PluginError(
            f"the metric {metric.name!r} must return a number or a Score, not "
            f"{value!r:.80}"
        ) from None
    if not 0 <= score.weight < math.inf:
        reason = f"the metric returned the weight {score.weight}, which is not a count"
        score = replace(score, value=None, status="unscored", reason=reason, weight=1.0)
    if score.status != "scored":
        return _bounded(score, metric.range_for(output))
    if score.value is None and score.evidence and AGGREGATION in metric.switches:
        return score
    low, high = metric.range_for(output)
    if score.value is None or not math.isfinite(score.value):
        reason = f"the metric returned {score.value}"
        return replace(score, value=None, status="unscored", reason=reason)
    if not low - ROUNDING <= score.value <= high + ROUNDING:
        reason = (
            f"the metric returned {score.value:g}, outside its range {low:g}..{high:g}"
        )
        return replace(score, value=None, status="unscored", reason=reason)
    if type(score.value) is float:
        return score
    return replace(score, value=float(score.value))


def _bounded(score: Score, spread: tuple[float, float]) -> Score:
    """Returns the score, with its bounds removed if they are outside the range."""
    if score.bounds is None:
        return score
    (low, high), (lowest, highest) = score.bounds, spread
    finite = math.isfinite(low) and math.isfinite(high)
    if finite and lowest - ROUNDING <= low <= high <= highest + ROUNDING:
        return score
    reason = (
        f"{score.reason} (the bounds {low:g}..{high:g} are left out, because they are "
        f"outside the range {lowest:g}..{highest:g})"
    )
    return replace(score, bounds=None, reason=reason)


def writable(score: Score) -> Score:
    """Returns the score, or an unscored score if its evidence is not JSON."""
    # Imported late: it imports fast JSON, which task files do not need.
    from mmeval.system.json_lines import to_line

    try:
        to_line(score.to_json())
    except TypeError as error:
        return Score.unscored(f"the metric's evidence cannot be written: {error}")
    return score
