"""A small form of the simulations of audits; ``make bench`` runs all."""

import pytest

from benchmarks.statistics.audits import JUDGES, flagged

SIMULATIONS = 8


@pytest.mark.parametrize("judge", JUDGES)
def test_an_audit_finds_the_planted_fault(judge: str) -> None:
    assert flagged(judge, SIMULATIONS).planted == SIMULATIONS


@pytest.mark.parametrize("judge", JUDGES)
def test_an_audit_hardly_finds_another_fault(judge: str) -> None:
    assert flagged(judge, SIMULATIONS).other <= 2
