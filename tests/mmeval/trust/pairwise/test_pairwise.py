from itertools import combinations

import numpy as np
import pytest

from mmeval.trust.pairs.bradley_terry import Strengths
from mmeval.trust.pairs.judgements import Outcome
from mmeval.trust.pairwise.pairwise import ComparedPair, PairOrder, Pairwise

SAMPLES = 60
EQUAL = {"a": 0.0, "b": 0.0, "c": 0.0}
APART = {"a": 1.0, "b": 0.5, "c": 0.0}


def compared(
    a: str, b: str, sample: int, first: Outcome, second: Outcome
) -> ComparedPair:
    """A pair with the outcome if ``a`` is shown first, and if ``b`` is."""
    return ComparedPair(
        a=a,
        b=b,
        task="t",
        sample=str(sample),
        repeat=0,
        cluster=str(sample),
        outcome=first if first == second else "tie",
        orders=[PairOrder(a, first), PairOrder(b, second)],
    )


def judged(qualities: dict[str, float], favour: float, *, orders: int = 2) -> Pairwise:
    """Comparisons by a judge that adds ``favour`` to the answer shown first."""
    random = np.random.default_rng(3)
    pairs = []
    for sample in range(SAMPLES):
        seen = {name: quality + random.normal() for name, quality in qualities.items()}
        for a, b in combinations(qualities, 2):
            first = better(seen[a] - seen[b] + favour + random.normal(0, 0.2))
            second = better(seen[a] - seen[b] - favour + random.normal(0, 0.2))
            if orders == 1:
                second = first
            pairs.append(compared(a, b, sample, first, second))
    return Pairwise("judge", {}, pairs, {}, "davidson")


def better(lead: float) -> Outcome:
    if abs(lead) < 0.1:
        return "tie"
    return "a" if lead > 0 else "b"


def strengths(result: Pairwise) -> Strengths:
    assert result.ranking is not None
    assert isinstance(result.ranking.strengths, Strengths)
    return result.ranking.strengths


def are_all_zero(result: Pairwise) -> bool:
    """True if all intervals contain 0."""
    for strength in strengths(result).of_players.values():
        assert strength.ci95 is not None
        if not strength.ci95[0] <= 0 <= strength.ci95[1]:
            return False
    return True


@pytest.mark.parametrize("favour", [0.0, 0.6, 1.0])
def test_equal_runs_are_equal_for_a_judge_with_a_favourite_side(favour: float) -> None:
    assert are_all_zero(judged(EQUAL, favour))


def test_one_order_alone_ranks_equal_runs() -> None:
    assert not are_all_zero(judged(EQUAL, 0.6, orders=1))


@pytest.mark.parametrize("favour", [0.0, 0.6, 1.0])
def test_a_favourite_side_leaves_the_order(favour: float) -> None:
    of_players = strengths(judged(APART, favour)).of_players
    assert of_players["a"].value > of_players["b"].value > of_players["c"].value


def test_the_first_side_is_measured_over_both_orders() -> None:
    ranking = judged(EQUAL, 1.0).ranking
    assert ranking is not None
    assert ranking.first_side is not None
    assert ranking.first_side.share > 0.6


@pytest.mark.parametrize(
    ("orders", "is_inconsistent"),
    [(("a", "a"), False), (("a", "b"), True), (("tie", "a"), True)],
)
def test_orders_that_differ_are_counted(
    orders: tuple[Outcome, Outcome], is_inconsistent: bool
) -> None:
    assert compared("a", "b", 1, *orders).is_inconsistent == is_inconsistent


def test_each_order_is_a_rating_of_its_own() -> None:
    ratings = list(compared("x", "y", 1, "a", "tie").ratings("judge"))
    assert [(row.first, row.value) for row in ratings] == [("x", "a"), ("y", "tie")]
    assert len({row.place for row in ratings}) == 2
