"""Combines several scores into one, for answers that must pass several checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import Range, metric
from mmeval.records import CAUSES, Score

Combine = Literal["product", "mean", "minimum"]


def _product(spans: Sequence[Range]) -> Range:
    """The range of a product: a factor known to be 0 makes it 0, whatever the
    others."""
    low, high = 1.0, 1.0
    for span in spans:
        ends = [_times(a, b) for a, b in itertools.product((low, high), span)]
        low, high = min(ends), max(ends)
    return (low, high)


def _times(a: float, b: float) -> float:
    """Zero times infinity is zero here: an unbounded end is never reached."""
    return a * b + 0.0 if a and b else 0.0


_SPANS: Mapping[str, Callable[[Sequence[Range]], Range]] = {
    "product": _product,
    "mean": lambda spans: (
        sum(low for low, _ in spans) / len(spans),
        sum(high for _, high in spans) / len(spans),
    ),
    "minimum": lambda spans: (
        min(low for low, _ in spans),
        min(high for _, high in spans),
    ),
}
"""The range of each combination, by the ranges of its pieces."""


def overall_range(ranges: Mapping[str, Range], switches: Mapping[str, Any]) -> Range:
    """The range of the score; for a product of shares it is 0 to 1."""
    return _SPANS[switches["combine"]](list(ranges.values()))


@metric(range=overall_range, version="1", source="MMMG, the scores of its tasks")
def overall(
    scores: Mapping[str, Score], *, of: Sequence[str] = (), combine: Combine = "product"
) -> Score:
    """The product of other scores of the same trial, or their mean, or the smallest.

    ``of`` names these scores. Range: from those of its pieces; an SSIM may be negative,
    and so may a product with it. Higher is better where that holds for all of its
    pieces.

    Unscored when a piece is, with the bounds that follow from the known ones, unless
    the score is known nevertheless: a factor 0 makes a product 0. The evidence holds
    the value of each piece, null where there is none.
    """
    span = _SPANS[combine]([_span(score) for score in scores.values()])
    return combined({name: scores[name] for name in of}, span)


def combined(pieces: Mapping[str, Score], span: Range, **evidence: Any) -> Score:
    """The score of a combination that lies in ``span``: unscored while a piece that
    matters is."""
    low, high = span
    evidence = {"of": {name: piece.value for name, piece in pieces.items()}, **evidence}
    unknown = {name: piece for name, piece in pieces.items() if piece.value is None}
    if not unknown:
        return Score(low, evidence=evidence)
    if low == high:
        return Score(low, evidence={**evidence, "whatever": sorted(unknown)})
    reason = "; ".join(f"{name}: {piece.reason}" for name, piece in unknown.items())
    bounds = span if math.isfinite(low) and math.isfinite(high) else None
    cause = min((piece.cause for piece in unknown.values()), key=CAUSES.index)
    return Score(
        status="unscored", reason=reason, evidence=evidence, bounds=bounds, cause=cause
    )


def _span(score: Score) -> Range:
    if score.value is not None:
        return (score.value, score.value)
    return score.bounds or (-math.inf, math.inf)
