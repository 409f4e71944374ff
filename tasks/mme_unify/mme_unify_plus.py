"""MME-Unify: acc+, which requires that all scores of an answer are 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.metric import metric
from mmeval.records import CAUSES, Cause, Score


@metric(range=(0, 1), version="1", source="MME-Unify, section 3.3", takes_missing=True)
def mme_unify_plus(
    scores: Mapping[str, Score],
    *,
    of: Sequence[str] = (),
) -> Score:
    """1 if every score that ``of`` names is 1, else 0: the answer's part in ``acc+``.

    Range 0 to 1, higher is better. Inapplicable scores are skipped, such as the score
    of pictures for a maze of one move. Inapplicable if all scores are inapplicable.
    Unavailable if a score is unavailable. Unscored if a score is unscored and the
    others are 1. Evidence: the scores ``below`` 1.

    In a task: ``metric_list: [{metric: mme_unify_plus, of: [mme_unify_choice,
    mme_unify_image]}]``
    """
    below = []
    reasons = []
    causes: list[Cause] = []
    is_applicable = False
    for name in of:
        score = scores[name]
        if score.status == "unavailable":
            return Score.unavailable(f"{name}: {score.reason}")
        if score.status == "inapplicable":
            continue
        is_applicable = True
        if score.value is None:
            reasons.append(f"{name}: {score.reason}")
            causes.append(score.cause)
        elif score.value < 1:
            below.append(name)
    if not is_applicable:
        return Score.inapplicable("all scores of the answer are inapplicable")
    if reasons and not below:
        reason = "; ".join(reasons)
        cause = min(causes, key=CAUSES.index)
        return Score(status="unscored", reason=reason, bounds=(0, 1), cause=cause)
    return Score(float(not below), evidence={"below": below})
