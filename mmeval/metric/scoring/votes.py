"""Counts the votes among the answers to one sample, for ``majority_vote``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from mmeval.metric.answer_filter import BALLOT

ScoreSetRow = dict[str, Any]


def with_votes(rows: Iterable[ScoreSetRow]) -> Iterator[ScoreSetRow]:
    """Applies votes to the rows of a score set, which must be sorted by sample.

    Among the scores with a ballot, only the score of the chosen answer remains. The
    others become inapplicable. An unscored answer has no ballot, so it remains unscored
    and widens the bounds.
    """
    for _, of_sample in groupby(rows, key=lambda row: row["i"]):
        answers = list(of_sample)
        if len(answers) > 1:
            _vote_by_number(answers)
        yield from answers


def _vote_by_number(answers: list[ScoreSetRow]) -> None:
    names: dict[str, None] = {}
    for row in answers:
        names.update(dict.fromkeys(_scores(row)))
    for name in names:
        _vote(answers, name)


def _vote(answers: list[ScoreSetRow], name: str) -> None:
    ballots: dict[int, str] = {}
    for place, row in enumerate(answers):
        ballot = _ballot(_scores(row).get(name))
        if ballot is not None:
            ballots[place] = ballot
    if len(ballots) < 2:
        return
    # As in lm-evaluation-harness, the earliest of equally frequent texts wins.
    chosen = Counter(ballots.values()).most_common(1)[0][0]
    chosen_place = next(place for place, ballot in ballots.items() if ballot == chosen)
    for place in ballots:
        if place != chosen_place:
            row = answers[place]
            left_out = {
                "value": None,
                "status": "inapplicable",
                "reason": "majority_vote chose another answer to the sample",
                "evidence": row["scores"][name]["evidence"],
            }
            answers[place] = {**row, "scores": {**row["scores"], name: left_out}}


def _scores(row: ScoreSetRow) -> Mapping[str, Any]:
    """Returns the scores of a row.

    The mapping is empty for a damaged row, which is reported where rows are read.
    """
    scores = row.get("scores")
    return scores if isinstance(scores, Mapping) else {}


def _ballot(score: Any) -> str | None:
    if not isinstance(score, Mapping) or score.get("status") != "scored":
        return None
    evidence = score.get("evidence")
    ballot = evidence.get(BALLOT) if isinstance(evidence, Mapping) else None
    return ballot if isinstance(ballot, str) else None
