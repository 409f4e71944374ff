from mmeval.trust.pairs.judgements import Judgement, Outcome
from mmeval.trust.pairs.win_rates import player_records


def judgements(*outcomes: Outcome) -> list[Judgement]:
    return [Judgement("x", "y", outcome, "c") for outcome in outcomes]


def test_each_reading_of_the_win_rate_treats_ties_its_own_way() -> None:
    player = player_records(judgements("a", "a", "b", "tie_a"))["x"]
    assert player.win_rate_half == 0.625
    assert player.win_rate_zero == 0.5
    assert player.win_rate_without == 2 / 3
    assert player.win_rate_forced == 0.75


def test_a_tie_without_a_side_has_no_forced_win_rate() -> None:
    assert player_records(judgements("a", "tie"))["x"].win_rate_forced is None


def test_only_ties_have_no_win_rate_without_them() -> None:
    assert player_records(judgements("tie"))["x"].win_rate_without is None
