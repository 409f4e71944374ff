"""How often comparisons of right and wrong answers are right, summed over everything
that can come of so many pairs."""

import pytest

from benchmarks.statistics.right_or_wrong import cells


@pytest.mark.parametrize("pairs", [8, 20, 50, 100])
def test_comparisons_of_right_answers_are_as_sure_as_they_say(pairs: int) -> None:
    for cell in cells((pairs,)):
        assert cell.held >= (0.90 if pairs < 20 else 0.93), cell.name
        if cell.truth:
            assert cell.passed <= 0.03, cell.name
            assert cell.failed <= 0.03, cell.name
        else:
            assert cell.different <= 0.06, cell.name
