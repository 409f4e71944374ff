"""A small form of the simulations of bridged numbers; ``make bench`` runs all."""

import pytest

from benchmarks.statistics.bridges import JUDGES, outcome

SIMULATIONS = 8


@pytest.mark.parametrize("judge", JUDGES)
def test_numbers_in_the_new_scale_hold_the_truth(judge: str) -> None:
    found = outcome(judge, SIMULATIONS)
    assert found.values_held > 0.75
    assert found.differences_held > 0.75
    assert found.wrong_sign == 0


def test_a_judge_that_favours_a_run_is_seen() -> None:
    assert outcome("favouring", SIMULATIONS).favouring_seen == 1
