"""The size of what a run of two groups prints, with a judge and a captioner."""

import pytest

from mmeval.report.terminal import WIDEST
from tests.support.cli import Ended, mmeval
from tests.support.judges import honest_server

SCREEN = 24
"""Lines of a terminal of the usual size."""


@pytest.fixture(scope="module")
def two_groups(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A run of the bundled samples of two benchmarks by the right answers."""
    with honest_server() as server:
        address = f"model=j,base_url={server.url}"
        return mmeval(
            *("--tasks", "unim_hard,mmmg_image", "--data", "bundled"),
            *("--model", "reference", "--judge", f"openai,{address}"),
            *("--captioner", f"openai,{address}", "-o", "runs"),
            *("--score_workers", "0"),
            cwd=tmp_path_factory.mktemp("two"),
        )


def test_a_run_of_two_groups_fits_on_a_screen(two_groups: Ended) -> None:
    lines = two_groups.out.splitlines()
    assert max(map(len, lines)) <= WIDEST
    assert len(lines) <= SCREEN, two_groups.out


def test_the_judged_numbers_of_the_first_benchmark_are_shown_or_counted(
    two_groups: Ended,
) -> None:
    lines = two_groups.out.splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith("UniM (hard), ")]
    names = [line.split()[0] for line in lines[start + 1 : start + 5]]
    assert names == [
        "sqcs",
        "semantic_correctness",
        "interleaved_coherence",
        "text_quality",
    ]
    assert lines[start + 5] == "    3 more: mmeval report runs/reference/default"


def test_the_rows_that_are_left_out_are_counted(two_groups: Ended) -> None:
    assert "Not listed: 12 tasks of MMMG (image)." in two_groups.out
