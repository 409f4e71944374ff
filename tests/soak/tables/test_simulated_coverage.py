"""How often intervals contain the truth, in some cells of the simulation.

All cells are those of ``python -m benchmarks coverage``, which takes minutes.
"""

from collections.abc import Iterator

import pytest

from benchmarks.statistics.coverage import (
    CHANCES,
    Cell,
    bootstrapped,
    clustered,
    grouped,
    lossy,
    margin,
    means,
    medians,
    repeated,
    shares,
    together,
)

DRAWS = 400
NOISE = 3.5
"""In percent: three standard deviations of a coverage of 95 % in so many draws."""

SIMULATED = {
    "means": means((8, 30, 100), DRAWS),
    "clusters": clustered((3, 20), DRAWS),
    "repeats": repeated((10, 50), DRAWS),
    "groups": grouped(("8 tasks of 8", "tasks of 5 and 1,000"), DRAWS),
    "same samples": together((20,), DRAWS),
    "medians": medians((5, 20, 50), DRAWS),
    "bootstrapped": bootstrapped((20, 50), DRAWS // 4),
    "losses": lossy((20, 50), DRAWS),
}


def below(cells: Iterator[Cell], noise: float) -> list[Cell]:
    return [cell for cell in cells if margin(cell) < -noise]


def test_the_interval_of_a_share_of_right_answers_contains_it() -> None:
    # without draws: the coverage itself
    assert below(shares((8, 15, 20, 50, 100, 200), CHANCES), 0.0) == []


@pytest.mark.parametrize("kind", SIMULATED)
def test_intervals_contain_the_truth_in_93_percent_or_90_below_20_clusters(
    kind: str,
) -> None:
    noise = 2 * NOISE if kind == "bootstrapped" else NOISE
    assert below(SIMULATED[kind], noise) == []


def test_numbers_without_a_range_have_no_interval_of_a_few_samples() -> None:
    cells = means((5,), 50)
    printed = {cell.kind: cell.printed for cell in cells}
    assert printed["mean, exponential"] == 0
    assert printed["mean, beta(8, 1)"] == 100
