"""A small form of the simulations of daily looks; ``make bench`` runs all."""

from benchmarks.statistics.sequences import misses


def test_a_sequence_holds_at_all_looks_together() -> None:
    assert misses("lenient", 8).sequence <= 2 / 8
