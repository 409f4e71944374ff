"""lm-evaluation-harness itself, which takes seconds to import, prints our results
file."""

import pytest

from tests.support.outcomes import THREE, document


def test_the_harness_prints_our_results_file() -> None:
    make_table = pytest.importorskip("lm_eval.utils").make_table
    made = document(*THREE)
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in make_table(made).splitlines()[2:]
    ]
    names = [("The group", "half", "↑"), ("- a", "half", "↑"), ("- b", "half", "↑")]
    assert [(line[0], line[4], line[5]) for line in lines] == names
    assert [float(line[6] or "nan") for line in lines[:2]] == [0.4, 0.25]
    assert (lines[2][6], lines[2][8]) == ("", "N/A")
    assert "The group" in make_table(made, "groups")
