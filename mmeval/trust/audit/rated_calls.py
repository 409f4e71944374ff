"""What people's ratings of a run say about its judge, without a further call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mmeval.results.stored_run import StoredRun
from mmeval.trust.audit.calls import LENGTH, SELF, Call
from mmeval.trust.human_values import first_passes, kept_ratings
from mmeval.trust.kept_answers import KeptAnswer
from mmeval.trust.rated_answers import ratings_of_kept_answers
from mmeval.trust.records import Rating
from mmeval.trust.run_scores import trial_name

Label = tuple[str, str]
"""The name and the value of a label."""
RatingPairs = Mapping[str, tuple[float, float | None]]
"""The ratings of two people by trial. The second is None if one person rated it."""


def first_two_ratings(
    ratings: Iterable[Rating], run: StoredRun, questions: Collection[str]
) -> RatingPairs:
    """Returns the ratings of two people of answers that the run has now, by trial. If
    there are more, these are the first two.

    ``questions`` are the names of the metric. If people were asked one question alone,
    it may have any name.
    """
    kept = kept_ratings(ratings)
    asked = {rating.question for rating in kept}
    if len(asked) > 1:
        kept = [rating for rating in kept if rating.question in questions]
    current = ratings_of_kept_answers(kept, {"": run})
    pairs = {}
    for (_, trial), of_trial in first_passes(current).items():
        numbers = _numbers(of_trial)
        if numbers:
            second = numbers[1] if len(numbers) > 1 else None
            pairs[trial] = (numbers[0], second)
    return pairs


def _numbers(ratings: Sequence[Rating]) -> list[float]:
    """Returns the ratings that are numbers, one of each person."""
    by_rater: dict[str, float] = {}
    for rating in ratings:
        if isinstance(rating.value, float | int):
            by_rater[rating.rater] = float(rating.value)
    return list(by_rater.values())


class ScoredAnswer(NamedTuple):
    """An answer with the judge's score from 0 to 1, or None, and its cluster."""

    answer: KeptAnswer
    score: float | None
    cluster: str


def length_calls(scored: Iterable[ScoredAnswer], rated: RatingPairs) -> Iterator[Call]:
    """Yields the scores of rated answers with the number of their words."""
    for row in scored:
        words = len(row.answer.output.words.split())
        for call in _calls(LENGTH, row, rated):
            yield replace(call, words=float(words))


def self_calls(
    scored: Iterable[ScoredAnswer], rated: RatingPairs, own: Label
) -> Iterator[Call]:
    """Yields the scores of rated answers, and whether they are of the judge's own
    family: those whose sample has the label ``own``."""
    name, value = own
    for row in scored:
        is_own = str(row.answer.sample.metadata.get(name, "")) == value
        for call in _calls(SELF, row, rated):
            yield replace(call, own=float(is_own))


def _calls(check: str, row: ScoredAnswer, rated: RatingPairs) -> Iterator[Call]:
    answer = row.answer
    trial = trial_name(answer.task, answer.sample.id, answer.repeat)
    if trial in rated:
        human, human2 = rated[trial]
        yield Call(
            check,
            trial,
            row.cluster,
            score=row.score,
            human=human,
            human2=human2,
        )
