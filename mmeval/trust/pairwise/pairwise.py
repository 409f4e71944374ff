"""What a judge says of pairs of answers, and the ranking that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK
from mmeval.trust.pairs.first_side import first_side
from mmeval.trust.pairs.judgements import Judgement, Outcome, Ties
from mmeval.trust.pairs.ranking import PairRanking, rank
from mmeval.trust.records import Rating


@dataclass(frozen=True)
class PairOrder:
    """A pair in one order: the player shown first, and what the judge says.

    ``outcome`` is None if the judge is not sure, or its verdict is lost.
    """

    first: str
    outcome: Outcome | None


@dataclass(frozen=True)
class ComparedPair:
    """A pair of answers with the judge's verdict.

    ``outcome`` is that of both orders: a tie if they differ, and None if one of them
    has none. ``orders`` is empty if no judge was needed.
    """

    a: str
    b: str
    task: str
    sample: str
    repeat: int
    cluster: str
    outcome: Outcome | None
    orders: Sequence[PairOrder]

    @property
    def is_open(self) -> bool:
        """True if the judge was not asked yet, as after a spent budget."""
        return self.outcome is None and not self.orders

    @property
    def is_inconsistent(self) -> bool:
        """True if the two orders have different outcomes."""
        outcomes = {order.outcome for order in self.orders}
        return self.outcome is not None and len(outcomes) > 1

    def ratings(self, judge: str) -> Iterator[Rating]:
        """Yields a rating for each order, as ``mmeval agree`` reads it."""
        name = f"{self.task}/{self.sample}/{self.repeat}/{self.a}/{self.b}"
        for number, order in enumerate(self.orders, start=1):
            yield Rating(
                trial=f"{name}/{number}",
                rater=judge,
                value=order.outcome,
                sample=f"{self.task}/{self.sample}",
                cluster=self.cluster,
                task=self.task,
                kind="pair",
                a=self.a,
                b=self.b,
                first=order.first,
            )


@dataclass(frozen=True)
class Pairwise:
    """The comparisons of all pairs by one judge.

    ``left_out`` are the numbers of pairs that were not compared, by reason.
    """

    judge: str
    runs: Mapping[str, Sequence[str]]
    comparisons: Sequence[ComparedPair]
    left_out: Mapping[str, int]
    ties: Ties

    @cached_property
    def ranking(self) -> PairRanking | None:
        """The ranking, or None if no comparison has an outcome."""
        judgements = list(self._judgements())
        if not judgements:
            return None
        # the side is lost in the outcome of both orders
        side = first_side(list(self._shown()))
        return replace(rank(judgements, self.ties), first_side=side)

    @property
    def inconsistent(self) -> int:
        """The number of pairs whose two orders have different outcomes."""
        return sum(each.is_inconsistent for each in self.comparisons)

    @property
    def asked(self) -> int:
        """The number of pairs that the judge was asked about."""
        return sum(bool(each.orders) for each in self.comparisons)

    @property
    def without_judge(self) -> int:
        """The number of pairs that needed no judge: equal or empty answers."""
        return len(self.comparisons) - self.asked - self.never_asked

    @property
    def never_asked(self) -> int:
        """The number of pairs that the judge still has to be asked about."""
        return sum(each.is_open for each in self.comparisons)

    @property
    def without_outcome(self) -> int:
        """The number of pairs without a verdict in one of the orders."""
        return sum(each.outcome is None for each in self.comparisons)

    @property
    def exit_code(self) -> int:
        """3 if there is no ranking by strengths, otherwise 0."""
        is_refused = self.ranking is None or self.ranking.refused
        return EXIT_INCOMPLETE if is_refused else EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Returns the ranking, and what it is made of."""
        runs = []
        for name, folders in self.runs.items():
            runs.append({"name": name, "folders": list(folders)})
        return {
            "judge": self.judge,
            "runs": runs,
            "pairs": None if self.ranking is None else self.ranking.to_json(),
            "asked": self.asked,
            "inconsistent": self.inconsistent,
            "without_judge": self.without_judge,
            "without_outcome": self.without_outcome,
            "left_out": dict(self.left_out),
            "exit_code": self.exit_code,
        }

    def _judgements(self) -> Iterator[Judgement]:
        for each in self.comparisons:
            if each.outcome is not None:
                yield Judgement(each.a, each.b, each.outcome, each.cluster)

    def _shown(self) -> Iterator[Judgement]:
        for each in self.comparisons:
            for order in each.orders:
                if order.outcome is not None:
                    yield Judgement(
                        each.a, each.b, order.outcome, each.cluster, order.first
                    )
