import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.forecast.estimate import RoleLoad, TokenRange
from mmeval.trust.pairs.judgements import Outcome
from mmeval.trust.pairwise.pairwise import ComparedPair, PairOrder, Pairwise
from mmeval.trust.pairwise.pairwise_text import pair_calls_text, pairwise_text

WIDTH = 80
CYCLE = {("a", "b"): "a", ("b", "c"): "a", ("a", "c"): "b"}
"""Who wins a third of the comparisons; the first one wins the others."""


def pair(
    a: str, b: str, sample: int, outcome: Outcome | None, *orders: Outcome | None
) -> ComparedPair:
    shown = zip((a, b), orders, strict=False)
    return ComparedPair(
        a=a,
        b=b,
        task="t",
        sample=str(sample),
        repeat=0,
        cluster=f"t/{sample}",
        outcome=outcome,
        orders=[PairOrder(first, order) for first, order in shown],
    )


def compared(*pairs: ComparedPair, left_out: int = 0) -> Pairwise:
    reasons = ("not_asked", "asked_otherwise", "failed")
    return Pairwise(
        judge="judge-with-a-name-that-is-very-long-2026-11-30",
        runs={"a": ["runs/a"], "b": ["runs/b"], "c": ["runs/c"]},
        comparisons=pairs,
        left_out=dict.fromkeys(reasons, left_out),
        ties="davidson",
    )


def three_runs() -> Pairwise:
    pairs = []
    for sample in range(30):
        for (a, b), rare in CYCLE.items():
            if sample % 5 == 0:
                pairs.append(pair(a, b, sample, "tie", "a", "b"))
            elif sample % 3 == 0:
                winner: Outcome = "b" if rare == "a" else "a"
                pairs.append(pair(a, b, sample, winner, winner, winner))
            else:
                pairs.append(pair(a, b, sample, "a", "a", "a"))
    return compared(*pairs, left_out=2)


CASES = {
    "three runs": three_runs(),
    "a run that never loses": compared(
        pair("a", "b", 1, "a", "a", "a"),
        pair("b", "c", 1, "b", "b", "b"),
        pair("b", "c", 2, "a", "a", "a"),
        pair("a", "c", 1, None, "a", None),
        pair("a", "c", 2, "a"),
    ),
    "no verdict at all": compared(pair("a", "b", 1, None)),
}


@pytest.mark.parametrize("name", CASES)
def test_pairwise(name: str, snapshot: SnapshotAssertion) -> None:
    assert pairwise_text(CASES[name], WIDTH) == snapshot


@pytest.mark.parametrize("dollars", [None, TokenRange(1.2, 30)])
def test_a_dry_run(dollars: TokenRange | None, snapshot: SnapshotAssertion) -> None:
    load = RoleLoad(calls=4320)
    assert pair_calls_text(load, "judge", 2160, dollars, WIDTH) == snapshot
