"""Generation quality (GQ) of UniM: how good the items of an answer are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.metric import metric
from mmeval.metrics.quality.items import ITEMS, LEFT_OUT, QUALITY
from mmeval.records import CAUSES, Score

PIECES = (
    "text_quality",
    "code_quality",
    "document_quality",
    "image_quality",
    "audio_quality",
    "quality_3d",
    "video_quality",
)
"""The metrics for the items of each modality."""
MODALITIES = "modalities"
COUNT = "count"
MEAN = "mean"
PARTIAL = "gq_partial"
WITHOUT = "without"
"""Keys of the evidence: for each metric, the number of items with a quality and their
mean; true if items are left out; and the metrics of those items."""


@metric(
    range=(0, 1),
    version="1",
    source="UniM, section 4.1 (GQ)",
    takes_missing=True,
    reference_free=True,
    caution="It is the mean quality of all items, and does not measure whether they "
    "are what was requested.",
)
def unim_gq(scores: Mapping[str, Score], *, of: Sequence[str] = PIECES) -> Score:
    """The mean quality of an answer's items: its text, each file, each piece of code.

    Range 0 to 1, higher is better. The items come from the evidence of other metrics,
    so nothing is decoded twice, and every item is given the same weight. Each quality
    is clamped to the range 0 to 1. A metric without ``items`` in its evidence counts as
    one item.

    Items of a metric that is unavailable (no judge, no weights) are left out. The
    evidence then contains ``gq_partial``, and ``without`` lists these metrics, even if
    the answer has no such items. Unscored with bounds if an item is unscored.
    Unavailable if all items are left out, inapplicable without an item. Items of a
    modality without a metric in ``of`` are ignored. ``unim_gq`` does not check if an
    item is what was requested.

    Switches: ``of`` names the metrics whose items are averaged.

    Evidence: for each of these metrics, the ``count`` of its items and their ``mean``.

    Example: two pictures with the qualities 0.9 and 0.7 and a text with 0.5 give
    (0.9 + 0.7 + 0.5) / 3 = 0.7.
    """
    known: list[float] = []
    spans: list[_QualityRange] = []
    unknown: list[Score] = []
    reasons: list[str] = []
    without: list[str] = []
    modalities: dict[str, Any] = {}
    # A metric that is listed twice counts once.
    for name in dict.fromkeys(of):
        items = _PieceItems.of(scores[name])
        known += items.known
        if items.known:
            mean = math.fsum(items.known) / len(items.known)
            modalities[name] = {COUNT: len(items.known), MEAN: mean}
        if items.spans:
            spans += items.spans
            unknown.append(scores[name])
            why = scores[name].reason or "an item has no quality"
            reasons.append(f"{name}: {why}")
        if items.left_out:
            without.append(name)
    evidence: dict[str, Any] = {MODALITIES: modalities}
    if without:
        evidence |= {PARTIAL: True, WITHOUT: without}
    if unknown:
        return Score(
            status="unscored",
            reason="; ".join(reasons),
            evidence=evidence,
            bounds=_bounds(known, spans),
            cause=min((piece.cause for piece in unknown), key=CAUSES.index),
        )
    if known:
        return Score(math.fsum(known) / len(known), evidence=evidence)
    if without:
        return Score.unavailable(
            f"no item of the answer can be scored without {', '.join(without)}"
        )
    return Score.inapplicable("the answer has no item")


class _QualityRange(NamedTuple):
    """The range of unknown qualities.

    With ``several`` the number of items is unknown.
    """

    low: float
    high: float
    several: bool = False


class _PieceItems(NamedTuple):
    """The items of one metric.

    ``known`` are their qualities, and ``spans`` are the ranges of unknown qualities.
    ``left_out`` is True if some items are left out.
    """

    known: Sequence[float] = ()
    spans: Sequence[_QualityRange] = ()
    left_out: bool = False

    @classmethod
    def of(cls, score: Score) -> _PieceItems:
        """Returns the items of one metric.

        An inapplicable metric has no items.
        """
        items = score.evidence.get(ITEMS)
        if isinstance(items, list | tuple) and items:
            known: list[float] = []
            spans: list[_QualityRange] = []
            left_out = False
            for item in items:
                quality = item.get(QUALITY)
                if item.get(LEFT_OUT):
                    left_out = True
                # The evidence of a plugin's metric may contain anything.
                elif isinstance(quality, int | float) and math.isfinite(quality):
                    known.append(_limited(quality))
                else:
                    spans.append(_QualityRange(0.0, 1.0))
            return cls(known, spans, left_out)
        if score.status == "unscored":
            low, high = score.bounds or (0.0, 1.0)
            return cls(
                spans=[_QualityRange(_limited(low), _limited(high), several=True)]
            )
        if score.value is not None:
            return cls([_limited(score.value)])
        return cls(left_out=score.status == "unavailable")


def _limited(quality: float) -> float:
    return min(1.0, max(0.0, quality))


def _bounds(
    known: Sequence[float], spans: Sequence[_QualityRange]
) -> tuple[float, float]:
    """Returns the range of the mean.

    An unknown number of items may outweigh all others.
    """
    lows, highs = list(known), list(known)
    below: list[float] = []
    above: list[float] = []
    for span in spans:
        if span.several:
            below.append(span.low)
            above.append(span.high)
        else:
            lows.append(span.low)
            highs.append(span.high)
    if lows:
        below.append(math.fsum(lows) / len(lows))
        above.append(math.fsum(highs) / len(highs))
    return min(below), max(above)
