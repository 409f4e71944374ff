"""MME-Unify: is everything about an answer right (acc+)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.metric import metric
from mmeval.records import CAUSES, Score


@metric(range=(0, 1), version="1", source="MME-Unify, section 3.3", takes_missing=True)
def mme_unify_plus(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
    """1 when each of the scores that ``of`` names is 1, else 0: the answer's part in
    ``acc+``.

    A score that is inapplicable is passed over, such as that of pictures for a maze of
    one move. Unscored where one is and the others are 1, unavailable where one is.
    Evidence: the scores below 1.
    """
    known = [
        (name, scores[name]) for name in of if scores[name].status != "inapplicable"
    ]
    for name, score in known:
        if score.status == "unavailable":
            return Score.unavailable(f"{name}: {score.reason}")
    below = [
        name for name, score in known if score.value is not None and score.value < 1
    ]
    lost = [(name, score) for name, score in known if score.value is None]
    if lost and not below:
        reason = "; ".join(f"{name}: {score.reason}" for name, score in lost)
        cause = min((score.cause for _, score in lost), key=CAUSES.index)
        return Score(status="unscored", reason=reason, bounds=(0, 1), cause=cause)
    if not known:
        return Score.inapplicable("none of its scores applies to the answer")
    return Score(float(not below), evidence={"below": below})
