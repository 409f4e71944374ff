"""Semantic-quality coupled score (SQCS, UniM): mostly correctness, partly quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from mmeval.metric import Range, metric
from mmeval.metrics.structure.overall import combined
from mmeval.records import Score
from mmeval.system import Condition, Share

ETA = 0.7
"""The weight that the paper uses. The paper also tests 0.6 and 0.8."""


def _pair_fault(of: Sequence[str]) -> str:
    if len(of) != 2:
        return "two outputs: first the correctness, then the quality"
    return ""


@metric(range=(0, 1), version="1", source="UniM, section 4.1 (SQCS)")
def sqcs(
    scores: Mapping[str, Score],
    *,
    of: Annotated[Sequence[str], Condition(_pair_fault)] = (
        "semantic_correctness",
        "unim_gq",
    ),
    eta: Share = ETA,
) -> Score:
    """Correctness, weighted by quality: ``correctness * (eta + (1 - eta) * quality)``.

    Range 0 to 1, higher is better. The correctness and the quality must be between 0
    and 1. The score is unscored if one of the two is unscored, and the bounds follow
    from the other one. If the correctness is 0, the score is 0 for any quality.

    Switches:

    - ``of``: the two outputs that the score combines; the correctness is the first.
    - ``eta``: the share of the correctness that does not depend on the quality.

    Evidence: the value of each output (null if there is none), and ``eta``.

    Example: a correctness of 0.5 and a quality of 0.8 give 0.5 * (0.7 + 0.3 * 0.8)
    = 0.47.
    """
    pieces = {name: scores[name] for name in of}
    spans: list[Range] = []
    for name in of:
        score = scores[name]
        if score.value is None:
            spans.append(score.bounds or (0.0, 1.0))
        else:
            spans.append((score.value, score.value))
    # The formula rises with both pieces, so their bounds give the bounds of the score.
    low, high = [
        correctness * (eta + (1 - eta) * quality)
        for correctness, quality in zip(*spans, strict=True)
    ]
    return combined(pieces, (low, high), eta=eta)
