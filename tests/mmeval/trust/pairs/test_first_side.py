import pytest
from scipy import stats

from mmeval.trust.pairs.first_side import first_side
from mmeval.trust.pairs.judgements import Judgement, Outcome


def shown(count: int, *, outcome: Outcome, clusters: int) -> list[Judgement]:
    rows = []
    for place in range(count):
        rows.append(
            Judgement("x", "y", outcome, f"c{place % clusters}", first="x"),
        )
    return rows


def test_ties_do_not_count() -> None:
    judgements = shown(3, outcome="a", clusters=3) + shown(5, outcome="tie", clusters=5)
    side = first_side(judgements)
    assert side is not None
    assert side.share == 1


def test_comparisons_of_their_own_have_the_exact_p() -> None:
    judgements = [
        Judgement(
            "x",
            "y",
            "a" if place < 9 else "b",
            f"c{place}",
            first="x",
        )
        for place in range(10)
    ]
    side = first_side(judgements)
    assert side is not None
    assert side.p == pytest.approx(stats.binomtest(9, 10).pvalue)


def test_few_clusters_have_the_p_of_sign_flips() -> None:
    side = first_side(shown(12, outcome="a", clusters=6))
    assert side is not None
    # of all 64 flips, only two are as extreme
    assert side.p == pytest.approx(2 / 64)


def test_many_clusters_have_the_p_of_student() -> None:
    judgements = shown(60, outcome="a", clusters=30)
    judgements += [
        Judgement("x", "y", "b", f"c{place}", first="x") for place in range(9)
    ]
    side = first_side(judgements)
    assert side is not None
    assert side.p is not None
    assert 0 < side.p < 1e-6


def test_without_a_side_nothing_is_known() -> None:
    assert first_side([Judgement("x", "y", "a", "c")]) is None
