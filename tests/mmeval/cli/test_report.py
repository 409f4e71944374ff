from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.findings.finding import Finding
from mmeval.findings.render import RemedyTarget, markdown_lines
from mmeval.report.charts.chosen import MOST_BARS
from mmeval.report.page.writer import MOST_CHARTS
from tests.support.cli import restored_log
from tests.support.stored_runs import write_run

NUMBER = {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1}


def sliced(folder: Path, *slices: str) -> Path:
    """A run without trials, with a number for each slice."""
    numbers = [{**NUMBER, "slice": name} for name in slices]
    return write_run(folder, [], results={"results": numbers})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def mmeval(*words: object) -> int:
    with restored_log():
        return main(["report", *map(str, words)])


def test_every_chart_is_a_file_and_one_that_is_cut_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slices = [f"label0=level{level}" for level in range(MOST_BARS + 1)]
    for at in range(1, MOST_CHARTS + 3):
        slices += [f"label{at}=easy", f"label{at}=hard"]
    many = sliced(Path("many"), *slices)
    assert mmeval(many, "--format", "svg") == 0
    captured = capsys.readouterr()
    assert len(set(captured.out.splitlines())) == MOST_CHARTS + 3
    assert len(list(many.glob("report/charts/*.svg"))) == MOST_CHARTS + 3
    assert captured.err.count("right-label0.svg") == captured.err.count("60 of 61") == 1


def test_charts_of_thirteen_runs_show_twelve_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slices = ("label=easy", "label=hard")
    runs = [sliced(Path(f"run{number}"), *slices) for number in range(13)]
    assert mmeval(*runs, "--format", "svg", "-o", "x") == 0
    captured = capsys.readouterr()
    assert "the first 12 of 13 runs" in captured.err
    drawn = Path("x/charts/told-right-label.svg").read_text()
    assert "The first 12 of 13 runs." in drawn
    assert ("run11" in drawn, "run12" in drawn) == (True, False)


def test_findings_stand_below_the_markdown_table_with_commands_of_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = Finding("unscored", cause="no verdict came", remedy="mmeval score RUN")
    results = {"results": [NUMBER], "findings": [lost.to_json()]}
    other = write_run(Path("other"), [], results=results)
    assert mmeval(sliced(Path("run"), ""), other, "--format", "markdown") == 0
    table, below = capsys.readouterr().out.split("\n\n", 1)
    place = RemedyTarget(run=str(other))
    assert below.splitlines()[2:] == markdown_lines([lost], place)
    assert table.startswith("|")


def test_charts_whose_names_are_one_as_files_are_all_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slices: list[str] = []
    for label in ("a?b", "a:b", "A?b", "a?b-2"):
        slices += [f"{label}=easy", f"{label}=hard"]
    alike = sliced(Path("alike"), *slices)
    assert mmeval(alike, "--format", "svg") == 0
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()] == [
        "told-right-a__b.svg",
        "told-right-a__b-2.svg",
        "told-right-A__b-3.svg",
        "told-right-a__b-2-2.svg",
    ]
