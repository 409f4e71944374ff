"""Tables of papers by the command line: below those of a run, of a later scoring, and
alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bench import Bench, set_up

TITLE = "MMMG, image: tasks"


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    """The task ``tiny`` beside one that has the name and the number of a task of
    MMMG."""
    with set_up(tmp_path, monkeypatch, capsys) as made:
        metrics = [
            {"metric": "exact_match"},
            {"metric": "overall", "of": ["exact_match"]},
        ]
        made.task("mmmg_region_fill", metric_list=metrics, repeats=2, layout="mmmg")
        yield made


def test_a_run_a_later_scoring_and_a_report_in_each_format_print_the_tables(
    bench: Bench,
) -> None:
    full = ("--table", "full")
    assert TITLE not in bench.run(*full).out
    left = bench.run(*full, tasks="mmmg_region_fill")
    folder = str(bench.runs / "noting" / "default")
    assert left.out.index("|mmmg_region_fill|") < left.out.index(TITLE)
    assert TITLE in bench.mmeval("score", folder, *full).out
    short = bench.mmeval("score", folder).out
    assert (TITLE in short, "--layout mmmg" in short) == (False, True)

    report = ("report", folder, "--layout", "mmmg")
    formats = bench.mmeval(*report, "--format", "markdown,latex,csv")
    assert (formats.code, formats.out.count(TITLE) > 2) == (0, True)
    assert all(
        start in formats.out
        for start in ("|Task", r"\toprule", "table,row,column,value")
    )
    assert bench.mmeval(*report).out.startswith(f"{TITLE}\n\n|Task")
    written = bench.mmeval(*report, "--format", "latex", "-o", str(bench.folder / "x"))
    file = bench.folder / "x" / "tables" / "mmmg.tex"
    assert (written.out, TITLE in file.read_text()) == (f"{file}\n", True)
    assert (
        bench.mmeval("report", folder, folder, "--layout", "mmmg").out.count(
            f"noting (default): {TITLE}"
        )
        == 2
    )


def test_a_blank_line_is_between_the_tables_of_two_layouts(bench: Bench) -> None:
    bench.task("unim_hard", layout="unim")
    bench.run(tasks="mmmg_region_fill,unim_hard")
    folder = str(bench.runs / "noting" / "default")
    shown = bench.mmeval("report", folder, "--layout", "unim,mmmg").out
    assert f"\n\n{TITLE}" in shown
