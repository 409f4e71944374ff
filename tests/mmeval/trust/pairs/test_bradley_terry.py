import math
from dataclasses import replace

import numpy as np
import pytest

from mmeval.trust.pairs.bradley_terry import NoStrengths, Strengths, strengths
from mmeval.trust.pairs.judgements import Judgement, Outcome, Ties


def judged(a: str, b: str, *outcomes: Outcome) -> list[Judgement]:
    rows = []
    for place, outcome in enumerate(outcomes):
        rows.append(Judgement(a, b, outcome, f"{a}{b}{place}"))
    return rows


def gap(judgements: list[Judgement], ties: Ties = "davidson") -> float:
    """The strength of x above that of y."""
    result = strengths(judgements, ["x", "y"], ties)
    assert isinstance(result, Strengths)
    return result.of_players["x"].value - result.of_players["y"].value


def test_the_odds_of_two_players_are_their_wins() -> None:
    assert gap(judged("x", "y", "a", "a", "a", "b")) == pytest.approx(math.log(3))


def test_strengths_have_mean_0() -> None:
    result = strengths(
        judged("x", "y", "a", "a", "b"),
        ["x", "y"],
        "davidson",
    )
    assert isinstance(result, Strengths)
    assert sum(each.value for each in result.of_players.values()) == pytest.approx(0)


def test_ties_of_two_players_have_the_weight_of_davidson() -> None:
    result = strengths(
        judged("x", "y", "a", "a", "a", "a", "b", "tie", "tie"), ["x", "y"], "davidson"
    )
    assert isinstance(result, Strengths)
    # by hand: ties / sqrt(wins * losses)
    assert result.nu == pytest.approx(2 / math.sqrt(4 * 1))


def test_half_a_tie_is_half_a_win_for_each() -> None:
    value = gap(
        judged("x", "y", "a", "a", "b", "tie"),
        "half",
    )
    assert value == pytest.approx(math.log(2.5 / 1.5))


def test_a_forced_tie_is_a_win_of_its_side() -> None:
    value = gap(
        judged("x", "y", "a", "tie_a", "b"),
        "forced",
    )
    assert value == pytest.approx(math.log(2))


def test_the_error_of_two_players_is_that_of_a_logit() -> None:
    wins, losses = 30, 10
    judgements = judged("x", "y", "a") * wins + judged("x", "y", "b") * losses
    # each comparison is its own cluster
    judgements = [
        replace(each, cluster=str(place)) for place, each in enumerate(judgements)
    ]
    result = strengths(judgements, ["x", "y"], "davidson")
    assert isinstance(result, Strengths)
    # half of the error of the log odds, for clusters of one comparison
    logit = math.sqrt(1 / wins + 1 / losses)
    expected = logit / 2 * math.sqrt(40 / 39)
    assert result.of_players["x"].stderr == pytest.approx(expected)


def test_one_cluster_has_no_error() -> None:
    rows: list[Outcome] = ["a", "b"]
    judgements = [Judgement("x", "y", outcome, "c") for outcome in rows]
    result = strengths(judgements, ["x", "y"], "davidson")
    assert isinstance(result, Strengths)
    assert result.of_players["x"].stderr is None


def test_at_the_maximum_the_expected_wins_are_the_observed_ones() -> None:
    random = np.random.default_rng(0)
    names = ["w", "x", "y", "z"]
    judgements = []
    wins = dict.fromkeys(names, 0)
    for place in range(200):
        a, b = random.choice(names, 2, replace=False).tolist()
        outcome: Outcome = "a" if random.random() < 0.6 else "b"
        wins[a if outcome == "a" else b] += 1
        judgements.append(
            Judgement(a, b, outcome, str(place)),
        )
    result = strengths(judgements, names, "davidson")
    assert isinstance(result, Strengths)
    expected = dict.fromkeys(names, 0.0)
    for each in judgements:
        above = result.of_players[each.a].value - result.of_players[each.b].value
        share = 1 / (1 + math.exp(-above))
        expected[each.a] += share
        expected[each.b] += 1 - share
    assert expected == pytest.approx(wins, abs=1e-8)


def test_a_player_that_never_lost_has_no_strength() -> None:
    judgements = judged("x", "y", "a") + judged("y", "z", "a", "b")
    assert strengths(judgements, ["x", "y", "z"], "davidson") == NoStrengths(
        "not connected", (("x",), ("y", "z"))
    )


def test_ties_may_connect_players_without_a_finite_estimate() -> None:
    judgements = [
        *judged("x", "y", "a", "tie"),
        *judged("y", "z", "a", "tie"),
        *judged("x", "z", "a"),
    ]
    assert strengths(judgements, ["x", "y", "z"], "davidson") == NoStrengths(
        "no finite estimate", (("x",), ("y",), ("z",))
    )


def test_the_same_ties_as_half_wins_have_a_finite_estimate() -> None:
    judgements = [
        *judged("x", "y", "a", "tie"),
        *judged("y", "z", "a", "tie"),
        *judged("x", "z", "a"),
    ]
    assert isinstance(strengths(judgements, ["x", "y", "z"], "half"), Strengths)


def test_ties_that_connect_players_may_have_a_finite_estimate() -> None:
    # x and y tie and x wins; y and z tie and z wins; z and x tie and z wins: wins alone
    # connect nobody to y, and every direction lowers some outcome
    judgements = [
        *judged("x", "y", "a", "tie", "tie"),
        *judged("x", "z", "a", "b", "tie"),
        *judged("y", "z", "tie", "a"),
    ]
    assert isinstance(strengths(judgements, ["x", "y", "z"], "davidson"), Strengths)


def test_only_ties_have_no_finite_estimate() -> None:
    result = strengths(
        judged("x", "y", "tie", "tie"),
        ["x", "y"],
        "davidson",
    )
    assert result == NoStrengths("no finite estimate", (("x",), ("y",)))


def test_a_tie_without_a_side_cannot_be_forced() -> None:
    result = strengths(
        judged("x", "y", "a", "b", "tie"),
        ["x", "y"],
        "forced",
    )
    assert result == NoStrengths("a tie has no side")
