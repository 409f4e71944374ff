from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_INCOMPLETE
from mmeval.report.charts.chosen import MOST_BARS
from mmeval.report.page.writer import MOST_CHARTS
from tests.support.log_level import restored_log
from tests.support.stored_run import Told, text, write_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    slices = [
        {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1, "slice": name}
        for name in ("", "level=easy", "level=hard")
    ]
    return write_run(Path("runs/teller/default"), [Told([text("a")], [text("b")])], results={"results": slices})


def mmeval(*words: object) -> int:
    with restored_log():
        return main(["report", *map(str, words)])


def test_the_page_lies_in_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mmeval(run) == 0
    assert capsys.readouterr().out == "runs/teller/default/report/index.html\n"
    assert (run / "report" / "index.html").exists()


def test_the_only_run_below_a_folder_is_found(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mmeval("runs") == 0

    captured = capsys.readouterr()
    assert "the run below runs is runs/teller/default" in captured.err
    assert captured.out == "runs/teller/default/report/index.html\n"


def test_of_several_runs_below_a_folder_one_has_to_be_chosen(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(run.with_name("other"), [])

    assert mmeval("runs") == 4
    assert "give one of the runs below it: runs/teller/default, runs/teller/other" in capsys.readouterr().err


def test_several_runs_are_one_report(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_run(run.with_name("other"), [], results={})

    assert mmeval(run, other) == 0
    assert capsys.readouterr().out == "report/index.html\n"


def test_a_run_may_stand_behind_a_flag(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_run(run.with_name("other"), [], results={})

    assert mmeval(run, "-o", "both", other) == 0
    assert capsys.readouterr().out == "both/index.html\n"


@pytest.mark.parametrize(
    ("name", "words"), [("markdown", "|Tasks"), ("latex", r"\begin{tabular}"), ("csv", "run,task,")]
)
def test_tables_are_printed(name: str, words: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mmeval(run, "--format", name) == 0
    assert words in capsys.readouterr().out
    assert not (run / "report").exists()


def test_results_of_some_metrics_alone_are_told_with_the_way_to_all(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = write_run(run.with_name("part"), [], results={"left_aside": {"told": ["other"]}})

    assert mmeval(part, "--format", "markdown") == 0
    assert "these results are without other" in capsys.readouterr().err


def test_with_a_folder_tables_and_charts_are_files_beside_the_page(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mmeval(run, "--format", "csv,latex,svg,html", "-o", "out") == 0
    assert mmeval(run, "-o", "out") == 0

    assert sorted(str(file.relative_to("out")) for file in Path("out").glob("*s/*.*[vgx]")) == [
        "charts/told-right-level.svg",
        "tables/numbers.csv",
        "tables/numbers.tex",
    ]
    assert capsys.readouterr().out.splitlines()[0] == "out/index.html"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "htlm"], 'did you mean "html"'),
        (["--format", ""], "html, markdown, latex, csv, svg, png are there"),
        (["-o", "."], "holds something else than a report of mmeval"),
        (["--copy_media=perhaps"], "perhaps"),
    ],
    ids=["format", "no format", "folder", "switch"],
)
def test_misuse_is_answered(words: list[str], message: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mmeval(run, *words) == 2
    assert message in capsys.readouterr().err


def test_tables_need_results(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next(run.glob("results_*.json")).unlink()

    assert mmeval(run, "--format", "csv") == 2
    assert "has no results yet: mmeval score runs/teller/default gives the numbers" in capsys.readouterr().err


def test_of_several_runs_one_without_results_is_a_column(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unfinished = write_run(run.parent.with_name("cut") / "default", [])

    assert mmeval(unfinished, run, "--format", "markdown") == EXIT_INCOMPLETE
    captured = capsys.readouterr()
    assert captured.out.count("no number|") == 3
    assert "mmeval score runs/cut/default" in captured.err


def test_results_without_a_number_are_not_the_whole_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_run(run.with_name("other"), [], results={"results": []})

    assert mmeval(run, other, "--format", "csv") == EXIT_INCOMPLETE
    assert f"the results of {other} have no number" in capsys.readouterr().err


def test_a_page_without_a_damaged_trial_is_incomplete(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = write_run(run.with_name("damaged"), [Told([text("a")], [{"no": "type"}])], results={})

    assert mmeval(damaged) == EXIT_INCOMPLETE
    captured = capsys.readouterr()
    assert "1 trial has a damaged record and is not in the report" in captured.err
    assert captured.out == "runs/teller/damaged/report/index.html\n"


def test_every_chart_is_a_file_and_one_that_is_cut_says_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slices = [
        {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1, "slice": f"label{at}=level{level}"}
        for at in range(MOST_CHARTS + 3)
        for level in range(2 if at else MOST_BARS + 1)
    ]
    many = write_run(run.with_name("many"), [], results={"results": slices})

    assert mmeval(many, "--format", "svg") == 0
    captured = capsys.readouterr()
    assert len(set(captured.out.splitlines())) == len(list(Path(many).glob("report/charts/*.svg"))) == MOST_CHARTS + 3
    assert captured.err.count("right-label0.svg shows the first 60 of 61 slices; --format csv has all") == 1


def test_charts_whose_names_are_one_as_files_are_all_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slices = [
        {"task": "told", "metric": "right", "value": 0.5, "n": 1, "scored": 1, "slice": f"{label}={level}"}
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


def test_a_damaged_run_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").write_text("{")

    assert mmeval(run) == 2
    assert "run.json: is damaged" in capsys.readouterr().err
