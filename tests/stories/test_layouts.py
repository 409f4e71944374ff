"""Tables of papers by the command line: below those of a run, of a later scoring, and
alone, with runs and published rows in one table."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.bench import Bench, set_up

TITLE = "MMMG, table 9: image"
PUBLISHED = """model,group,task,metric,value
=1+1,Theirs,mmmg_region_fill,overall,0.25
"""
LAYOUT = """
layout: own
axes: {rows: models, columns: tasks}
number: overall
keys: {tasks: [{header: Fill, task: mmmg_region_fill}, {header: Tiny, task: tiny}]}
tables: [{name: "1"}]
"""


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
        (made.folder / "paper.csv").write_text(PUBLISHED)
        (made.folder / "own.yaml").write_text(LAYOUT)
        monkeypatch.chdir(made.folder)
        yield made


@pytest.fixture
def folder(bench: Bench) -> str:
    """The folder of a run of one task of MMMG."""
    bench.run(tasks="mmmg_region_fill")
    return str(bench.runs / "noting" / "default")


def test_a_run_and_a_later_scoring_print_the_tables(bench: Bench) -> None:
    full = ("--table", "full")
    assert TITLE not in bench.run(*full).out
    left = bench.run(*full, tasks="mmmg_region_fill")
    folder = str(bench.runs / "noting" / "default")
    assert left.out.index("|mmmg_region_fill|") < left.out.index(TITLE)
    assert TITLE in bench.mmeval("score", folder, *full).out
    short = bench.mmeval("score", folder).out
    assert (TITLE in short, "--layout mmmg" in short) == (False, True)


@pytest.mark.parametrize(
    "form, start",
    [
        ("markdown", f"{TITLE}\n\n|"),
        ("text", f"{TITLE}\n\n"),
        ("latex", f"% {TITLE}\n"),
        ("csv", "table,block,row,column,value,shown,mark\n"),
        ("html", "<!doctype html>\n"),
    ],
)
def test_a_report_prints_the_tables_in_each_format(
    bench: Bench, folder: str, form: str, start: str
) -> None:
    left = bench.mmeval("report", folder, "--layout", "mmmg", "--format", form)
    assert (left.code, left.out.startswith(start)) == (0, True)


def test_a_report_writes_the_tables_to_a_folder(bench: Bench, folder: str) -> None:
    into = bench.folder / "x"
    words = ("--layout", "mmmg", "--format", "latex,text", "-o", str(into))
    written = bench.mmeval("report", folder, *words)
    files = [into / "tables" / "mmmg.tex", into / "tables" / "mmmg.txt"]
    assert written.out == "".join(f"{file}\n" for file in files)
    assert TITLE in files[0].read_text()


def test_the_tables_of_a_layout_file_are_called_by_its_name(
    bench: Bench, folder: str
) -> None:
    words = ("--layout", "own.yaml", "--format", "csv", "-o", "tables-of-own")
    bench.mmeval("report", folder, *words)
    (file,) = Path("tables-of-own/tables").iterdir()
    assert file.name == "own.csv"


def test_runs_and_published_rows_stand_in_one_table(bench: Bench, folder: str) -> None:
    words = ("--published", "paper.csv", "--layout", "own.yaml", "--format", "csv")
    left = bench.mmeval("report", f"Ours={folder}", *words)
    lines = [line for line in left.out.splitlines() if line.startswith("1,")]
    assert [line.split(",")[2:4] for line in lines if "note" not in line] == [
        ["Ours", "Fill"],
        ["Ours", "Tiny"],
        ["'=1+1", "Fill"],
        ["'=1+1", "Tiny"],
    ]
    assert "1,,,note,,† published: paper.csv," in lines


def test_a_published_model_without_a_row_is_named(bench: Bench, folder: str) -> None:
    lines = "model,task,metric,value\nLost,tyni,exact_match,0.5\n"
    (bench.folder / "typo.csv").write_text(lines)
    words = ("--published", "typo.csv", "--layout", "own.yaml", "--format", "csv")
    left = bench.mmeval("report", folder, *words)
    assert left.code == 0
    assert "typo.csv: the layout own.yaml has none of the numbers of Lost" in left.err


def test_a_run_without_the_number_that_another_run_has_is_not_complete(
    bench: Bench, folder: str
) -> None:
    other = bench.run("--run_id", "other", tasks="tiny")
    assert other.code == 0
    runs = (folder, str(bench.runs / "noting" / "other"))
    left = bench.mmeval("report", *runs, "--layout", "own.yaml", "--format", "csv")
    assert left.code == 3
    assert "1,,noting (other),Fill,,N/A," in left.out
    warning = "noting (other): no number for the table 1 of the layout own.yaml"
    assert warning in left.err


def test_a_board_names_the_rows(bench: Bench, folder: str) -> None:
    board = bench.folder / "board.yaml"
    board.write_text(
        "rows:\n"
        "- {published: paper.csv, models: ['=1+1']}\n"
        f"- {{run: '{folder}', name: Ours, group: Open}}\n"
    )
    words = ("--board", "board.yaml", "--layout", "own.yaml", "--format", "csv")
    left = bench.mmeval("report", *words)
    rows = [line.split(",")[2] for line in left.out.splitlines()[1:4]]
    assert rows == ["'=1+1", "'=1+1", "Ours"]


def test_the_title_of_a_board_is_above_its_tables(bench: Bench) -> None:
    board = bench.folder / "board.yaml"
    board.write_text("title: Both\nrows: [{published: paper.csv}]\n")
    left = bench.mmeval("report", "--board", "board.yaml", "--layout", "own.yaml")
    assert left.out.startswith("Both. own, table 1\n")


@pytest.mark.parametrize(
    "words, message",
    [
        (("--layout", "own.yaml"), "name the folder of a run, or use --published"),
        (("RUN", "--board", "b.yaml"), "--board needs --layout"),
        (("RUN", "--published", "paper.csv"), "--published needs --layout"),
        (("RUN", "--layout", "own.yaml", "--sort", "Fil"), 'did you mean "Fill"'),
        (("--published", "x.csv", "--layout", "own.yaml"), "x.csv: cannot be read"),
    ],
)
def test_a_flag_without_its_meaning_is_refused(
    bench: Bench, folder: str, words: tuple[str, ...], message: str
) -> None:
    given = [folder if word == "RUN" else word for word in words]
    left = bench.mmeval("report", *given)
    assert (left.code, message in left.err) == (2, True)


def test_a_blank_line_is_between_the_tables_of_two_layouts(bench: Bench) -> None:
    bench.task("unim_hard", layout="unim")
    bench.run(tasks="mmmg_region_fill,unim_hard")
    folder = str(bench.runs / "noting" / "default")
    shown = bench.mmeval("report", folder, "--layout", "unim_slices,mmmg").out
    assert f"\n\n{TITLE}" in shown


FIGURE = """figures:
  - {name: "2", chart: bars, points: tasks}
"""


@pytest.fixture
def with_figure(bench: Bench) -> str:
    """The name of a layout with one figure."""
    (bench.folder / "drawn.yaml").write_text(LAYOUT + FIGURE)
    return "drawn.yaml"


def test_a_report_prints_the_only_figure(
    bench: Bench, folder: str, with_figure: str
) -> None:
    words = ("--published", "paper.csv", "--layout", with_figure, "--format", "svg")
    left = bench.mmeval("report", folder, *words)
    assert left.code == 0
    assert ElementTree.fromstring(left.out).tag == "{http://www.w3.org/2000/svg}svg"
    assert "=1+1†" in left.out


def test_a_report_writes_a_file_for_each_figure(
    bench: Bench, folder: str, with_figure: str
) -> None:
    (bench.folder / with_figure).write_text(
        LAYOUT + FIGURE + FIGURE.removeprefix("figures:\n").replace('"2"', "a/b")
    )
    into = bench.folder / "x"
    words = ("--layout", with_figure, "--format", "svg,png", "-o", str(into))
    written = bench.mmeval("report", folder, *words)
    names = ["own-2.svg", "own-2.png", "own-a__b.svg", "own-a__b.png"]
    assert written.out == "".join(f"{into / 'charts' / name}\n" for name in names)
    assert all((into / "charts" / name).stat().st_size > 500 for name in names)


@pytest.mark.parametrize(
    "form, layout, words",
    [
        ("png", "drawn.yaml", "name it with -o"),
        ("svg", "own.yaml", "the layout own.yaml has no figures"),
        ("svg", "unim_slices", "the layout unim_slices has no figures"),
        ("svg", "ueval", "no row has a number of the layout's figures"),
    ],
    ids=["no folder", "no figure", "function", "no number"],
)
def test_a_figure_that_cannot_be_drawn_is_refused(
    bench: Bench, folder: str, with_figure: str, form: str, layout: str, words: str
) -> None:
    left = bench.mmeval("report", folder, "--layout", layout, "--format", form)
    assert left.code == 2
    assert words in left.err
