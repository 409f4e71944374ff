"""Semantic-quality coupled score (SQCS, UniM): mostly correctness, partly quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from mmeval.metric import Range, metric
from mmeval.metrics.structure.overall import combined
from mmeval.records import Score
from mmeval.system import Checked, Share

ETA = 0.7
"""The weight of the paper, which also tried .6 and .8."""


def _pair_fault(of: Sequence[str]) -> str:
    if len(of) != 2:
        return "two outputs: the correctness, and after it the quality"
    return ""


@metric(range=(0, 1), version="1", source="UniM, section 4.1 (SQCS)")
def sqcs(
    scores: Mapping[str, Score],
    *,
    of: Annotated[Sequence[str], Checked(_pair_fault)] = (
        "semantic_correctness",
        "unim_gq",
    ),
    eta: Share = ETA,
) -> Score:
    """Correctness, weighted by quality: ``correctness * (eta + (1 - eta) * quality)``.

    Range 0 to 1, higher is better. Both pieces must lie between 0 and 1. Unscored if a
    piece is unscored, with the bounds that follow from the other. With correctness 0 it
    is 0, whatever the quality.

    Switches:

    - ``of``: the two outputs that it is made of, the correctness first.
    - ``eta``: how much of the correctness counts whatever the quality.

    Evidence: the value of each piece, null for one without a value, and ``eta``.
    """
    pieces = {name: scores[name] for name in of}
    spans: list[Range] = []
    for name in of:
        score = scores[name]
        if score.value is None:
            spans.append(score.bounds or (0.0, 1.0))
        else:
            spans.append((score.value, score.value))
    # the formula rises with both pieces, so their ends give the ends of the range
    low, high = [
        correctness * (eta + (1 - eta) * quality)
        for correctness, quality in zip(*spans, strict=True)
    ]
    return combined(pieces, (low, high), eta=eta)
