"""How often the intervals of ranks hold all true ranks of some runs. ``python -m
benchmarks ranks`` simulates more cells, and each of them more often."""

import pytest

from benchmarks.statistics.ranks import KINDS, TRUTHS, Cell, Truth

SIMULATIONS = {3: 400, 5: 200, 15: 20}


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize(
    ("runs", "clusters"), [(3, 8), (3, 20), (3, 50), (5, 12), (5, 50), (15, 50)]
)
def test_all_intervals_of_ranks_hold_together(
    runs: int, clusters: int, truth: Truth
) -> None:
    cells = [Cell(runs, clusters, kind, truth) for kind in KINDS]
    coverage = [cell.coverage(SIMULATIONS[runs]) for cell in cells]
    assert sum(coverage) / len(coverage) >= (0.93 if clusters >= 20 else 0.90)
