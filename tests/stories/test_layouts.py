"""Tables of papers by the command line: below those of a run, of a later scoring, and alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bench import Bench, set_up
from tests.support.log_level import restored_log

TITLE = "MMMG, image: tasks"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    """The task ``tiny`` beside one that has the name and the number of a task of MMMG."""
    with restored_log(), set_up(tmp_path, monkeypatch, capsys) as made:
        metrics = [{"metric": "exact_match"}, {"metric": "overall", "of": ["exact_match"]}]
        made.task("mmmg_region_fill", metric_list=metrics, repeats=2, layout="mmmg")
        yield made


def run(bench: Bench, tasks: str = "mmmg_region_fill") -> Path:
    assert bench.run(tasks=tasks).code == 0
    return bench.runs / "noting" / "default"


def test_a_run_and_a_later_scoring_print_the_tables_below_their_own(bench: Bench) -> None:
    left = bench.run(tasks="mmmg_region_fill")
    assert left.out.index("|mmmg_region_fill|") < left.out.index(TITLE)
    assert TITLE in bench.mmeval("score", str(bench.runs / "noting" / "default")).out


def test_a_run_without_a_layout_prints_none(bench: Bench) -> None:
    assert TITLE not in bench.run().out


def test_the_tables_are_printed_in_each_format(bench: Bench) -> None:
    folder = run(bench)
    left = bench.mmeval("report", str(folder), "--layout", "mmmg", "--format", "markdown,latex,csv")
    assert (left.code, left.out.count(TITLE) > 2) == (0, True)
    assert all(start in left.out for start in ("|Task", r"\toprule", "table,row,column,value"))
    usual = bench.mmeval("report", str(folder), "--layout", "mmmg")
    assert usual.out.startswith(f"{TITLE}\n\n|Task")


def test_they_are_written_where_a_folder_is_named(bench: Bench) -> None:
    left = bench.mmeval(
        "report", str(run(bench)), "--layout", "mmmg", "--format", "latex", "-o", str(bench.folder / "x")
    )
    file = bench.folder / "x" / "tables" / "mmmg.tex"
    assert (left.out, TITLE in file.read_text()) == (f"{file}\n", True)


def test_tables_of_several_runs_say_whose_they_are(bench: Bench) -> None:
    folder = str(run(bench))
    left = bench.mmeval("report", folder, folder, "--layout", "mmmg")
    assert left.out.count(f"noting (default): {TITLE}") == 2
