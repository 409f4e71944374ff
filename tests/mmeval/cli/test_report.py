from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.findings.finding import Finding
from mmeval.findings.render import Place, markdown_lines
from mmeval.report.charts.chosen import MOST_BARS
from mmeval.report.page.writer import MOST_CHARTS
from tests.support.log_level import restored_log
from tests.support.stored_run import Told, text, write_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    slices = [
        {
            "task": "told",
            "metric": "right",
            "value": 0.5,
            "n": 1,
            "scored": 1,
            "slice": name,
        }
        for name in ("", "level=easy", "level=hard")
    ]
    return write_run(
        Path("runs/teller/default"),
        [Told([text("a")], [text("b")])],
        results={"results": slices},
    )


def mmeval(*words: object) -> int:
    with restored_log():
        return main(["report", *map(str, words)])


def test_every_chart_is_a_file_and_one_that_is_cut_says_so(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slices = [
        {
            "task": "told",
            "metric": "right",
            "value": 0.5,
            "n": 1,
            "scored": 1,
            "slice": f"label{at}=level{level}",
        }
        for at in range(MOST_CHARTS + 3)
        for level in range(2 if at else MOST_BARS + 1)
    ]
    many = write_run(run.with_name("many"), [], results={"results": slices})
    assert mmeval(many, "--format", "svg") == 0
    captured = capsys.readouterr()
    assert (
        len(set(captured.out.splitlines()))
        == len(list(Path(many).glob("report/charts/*.svg")))
        == MOST_CHARTS + 3
    )
    assert captured.err.count("right-label0.svg") == captured.err.count("60 of 61") == 1


def test_findings_stand_below_the_markdown_table_with_commands_of_the_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Finding("unscored", cause="no verdict came", remedy="mmeval score RUN")
    number = {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1}
    results = {"results": [number], "findings": [lost.to_json()]}
    other = write_run(run.with_name("other"), [], results=results)
    assert mmeval(run, other, "--format", "markdown") == 0
    table, below = capsys.readouterr().out.split("\n\n", 1)
    place = Place(run=str(other))
    assert below.splitlines()[2:] == markdown_lines([lost], place)
    assert table.startswith("|")


def test_charts_whose_names_are_one_as_files_are_all_written(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slices = [
        {
            "task": "told",
            "metric": "right",
            "value": 0.5,
            "n": 1,
            "scored": 1,
            "slice": f"{label}={level}",
        }
        for label in ("a?b", "a:b", "A?b", "a?b-2")
        for level in ("easy", "hard")
    ]
    alike = write_run(run.with_name("alike"), [], results={"results": slices})
    assert mmeval(alike, "--format", "svg") == 0
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()] == [
        "told-right-a__b.svg",
        "told-right-a__b-2.svg",
        "told-right-A__b-3.svg",
        "told-right-a__b-2-2.svg",
    ]
