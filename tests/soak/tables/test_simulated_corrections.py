"""A small form of the simulations of corrected numbers; ``make bench`` runs all."""

import pytest

from benchmarks.statistics.corrections import DESIGNS, Cell

SIMULATIONS = 60


@pytest.mark.parametrize("design", DESIGNS)
def test_the_interval_of_a_corrected_number_holds_the_truth(design: str) -> None:
    outcome = Cell(design, "lenient", 200).outcome(SIMULATIONS)
    # 95 % less four standard errors of so few simulations
    assert outcome.coverage > 0.83
    assert outcome.coverage_run > 0.83


def test_a_lenient_judge_makes_the_error_smaller() -> None:
    assert Cell("equal", "lenient", 200).outcome(20).stderr < 0.92


def test_a_useless_judge_hardly_makes_the_error_larger() -> None:
    assert Cell("equal", "useless", 200).outcome(20).stderr < 1.02
