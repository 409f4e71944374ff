"""Combines several scores into one score, for answers that must pass several checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import Range, metric
from mmeval.records import CAUSES, Score

Combine = Literal["product", "mean", "minimum"]


def _span_of(spans: Sequence[Range], combine: Combine) -> Range:
    """Computes the range of a combination from the ranges of the combined scores.

    If a factor is known to be 0, the product is 0, whatever the other factors are.
    """
    low = high = 1.0
    if combine == "product":
        for span in spans:
            ends: list[float] = []
            for end, span_end in itertools.product((low, high), span):
                # Zero times infinity is zero here: an unbounded end is never reached.
                ends.append(end * span_end + 0.0 if end and span_end else 0.0)
            low, high = min(ends), max(ends)
        return (low, high)
    lows, highs = zip(*spans, strict=True)
    if combine == "mean":
        return (sum(lows) / len(lows), sum(highs) / len(highs))
    return (min(lows), min(highs))


def overall_range(ranges: Mapping[str, Range], switches: Mapping[str, Any]) -> Range:
    """Computes the range of the score from the ranges of the combined scores."""
    return _span_of(list(ranges.values()), switches["combine"])


@metric(range=overall_range, version="1", source="MMMG, the scores of its tasks")
def overall(
    scores: Mapping[str, Score], *, of: Sequence[str] = (), combine: Combine = "product"
) -> Score:
    """The product, the mean or the minimum of other scores of the same trial.

    The range follows from the ranges of the combined scores: 0 to 1 for shares, and
    below 0 with an SSIM. Higher is better if this is true for all of them. The result
    is unscored if one of them is unscored, and the bounds follow from the others. A
    product with a factor of 0 is still 0.

    Switches:

    - ``of``: the outputs of the task's other metrics.
    - ``combine``: ``product``, ``mean`` or ``minimum``.

    Evidence: the value of each combined score; null if there is none.

    Example: the product of 0.5 and 0.8 is 0.4.

    In a task: ``metric_list: [{metric: overall, of: [choice, ssim], combine:
    mean}]``
    """
    spans: list[Range] = []
    for score in scores.values():
        if score.value is not None:
            spans.append((score.value, score.value))
        else:
            spans.append(score.bounds or (-math.inf, math.inf))
    pieces = {name: scores[name] for name in of}
    return combined(pieces, _span_of(spans, combine))


def combined(pieces: Mapping[str, Score], span: Range, **evidence: Any) -> Score:
    """Returns the score of a combination with the range ``span``.

    The score is unscored if a missing value matters, that is, if the ends of ``span``
    differ.
    """
    low, high = span
    values: dict[str, float | None] = {}
    unknown: dict[str, Score] = {}
    for name, piece in pieces.items():
        values[name] = piece.value
        if piece.value is None:
            unknown[name] = piece
    evidence = {"of": values, **evidence}
    if not unknown:
        return Score(low, evidence=evidence)
    if low == high:
        return Score(low, evidence={**evidence, "whatever": sorted(unknown)})
    reasons = [f"{name}: {piece.reason}" for name, piece in unknown.items()]
    causes = [piece.cause for piece in unknown.values()]
    is_bounded = math.isfinite(low) and math.isfinite(high)
    return Score(
        status="unscored",
        reason="; ".join(reasons),
        evidence=evidence,
        bounds=span if is_bounded else None,
        cause=min(causes, key=CAUSES.index),
    )
