"""Generation quality (GQ) of UniM: how well each item of an answer is made, its text, its files and its code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
"""A metric for the items of each modality."""
MODALITIES, COUNT, MEAN, PARTIAL, WITHOUT = "modalities", "count", "mean", "gq_partial", "without"
"""Keys of the evidence: by piece how many of its items have a quality and the mean of these; whether items are left
out, and of which pieces."""


@metric(range=(0, 1), version="1", source="UniM, section 4.1 (GQ)", takes_missing=True, reference_free=True)
def unim_gq(scores: Mapping[str, Score], *, of: Sequence[str] = PIECES) -> Score:
    """The mean quality of an answer's items: its text, which is one, each of its files and pieces of code.

    Range 0 to 1, higher is better. ``of`` names the outputs that look at the items of a modality each. Their items are
    pooled from their evidence, so that every item counts the same, not every modality; each is held between 0 and 1. A
    piece whose evidence has no ``items`` counts as one. Unscored while an item is, with the bounds that follow. Items
    that nothing here can look at (a piece that is unavailable, for lack of a judge, say) are left out, which the
    evidence says: ``gq_partial``, and ``without`` with the pieces, whether or not the answer has such items. Where only
    such are left the answer is unavailable; inapplicable where each piece finds nothing of its own. Evidence besides:
    by piece the ``count`` of its items and their ``mean``.

    It does not see items of a modality that no piece looks at, nor whether an item is what was asked for.
    """
    found = {name: _Items.of(scores[name]) for name in of}
    without = [name for name in of if found[name].left_out]
    evidence: dict[str, Any] = {MODALITIES: {name: one.summary() for name, one in found.items() if one.known}}
    if without:
        evidence |= {PARTIAL: True, WITHOUT: without}
    known = [quality for one in found.values() for quality in one.known]
    unknown = [name for name, one in found.items() if one.spans]
    if unknown:
        spans = [span for name in unknown for span in found[name].spans]
        return _unscored({name: scores[name] for name in unknown}, evidence, _bounds(known, spans))
    if known:
        return Score(math.fsum(known) / len(known), evidence=evidence)
    if without:
        return Score.unavailable(f"the answer has nothing that can be looked at without {', '.join(without)}")
    return Score.inapplicable("the answer has no item to look at")


class _Span(NamedTuple):
    """Between which qualities some items lie of which none is known. ``several``: nobody says how many they are."""

    low: float
    high: float
    several: bool = False


class _Items(NamedTuple):
    """What a piece says of its items: the qualities that are known, where the others lie, and whether some are left
    out."""

    known: Sequence[float] = ()
    spans: Sequence[_Span] = ()
    left_out: bool = False

    @classmethod
    def of(cls, score: Score) -> _Items:
        """A piece that is inapplicable has none."""
        items = score.evidence.get(ITEMS)
        if isinstance(items, list | tuple) and items:
            return cls._listed(items)
        if score.status == "unscored":
            low, high = score.bounds or (0.0, 1.0)
            return cls(spans=[_Span(_held(low), _held(high), several=True)])
        return cls([_held(score.value)] if score.value is not None else (), left_out=score.status == "unavailable")

    @classmethod
    def _listed(cls, items: Iterable[Mapping[str, Any]]) -> _Items:
        counted = [item for item in items if not item.get(LEFT_OUT)]
        known = [_held(item[QUALITY]) for item in counted if _is_known(item.get(QUALITY))]
        left_out = any(item.get(LEFT_OUT) for item in items)
        return cls(known, [_Span(0.0, 1.0)] * (len(counted) - len(known)), left_out)

    def summary(self) -> dict[str, float]:
        return {COUNT: len(self.known), MEAN: math.fsum(self.known) / len(self.known)}


def _is_known(quality: Any) -> bool:
    """Whether an item has a quality; a metric of somebody else may write anything."""
    return isinstance(quality, int | float) and math.isfinite(quality)


def _held(quality: float) -> float:
    return min(1.0, max(0.0, quality))


def _bounds(known: Sequence[float], spans: Sequence[_Span]) -> tuple[float, float]:
    """Between which values the mean lies. Items of which nobody says how many they are may outweigh all others, so that
    the mean may come as near to theirs as one likes."""
    counted = [span for span in spans if not span.several]
    lows, highs = ([*known, *(span[at] for span in counted)] for at in (0, 1))
    several = [span for span in spans if span.several]
    low, high = (math.fsum(ends) / len(ends) if ends else math.nan for ends in (lows, highs))
    below = [span.low for span in several] + ([low] if lows else [])
    above = [span.high for span in several] + ([high] if highs else [])
    return min(below), max(above)


def _unscored(pieces: Mapping[str, Score], evidence: Mapping[str, Any], bounds: tuple[float, float]) -> Score:
    """The score of an answer some of whose items have none; the reasons are those of the pieces."""
    reason = "; ".join(f"{name}: {piece.reason or 'an item has no quality'}" for name, piece in pieces.items())
    causes = {piece.cause for piece in pieces.values()}
    cause = next(cause for cause in CAUSES if cause in causes)
    return Score(status="unscored", reason=reason, evidence=evidence, bounds=bounds, cause=cause)
