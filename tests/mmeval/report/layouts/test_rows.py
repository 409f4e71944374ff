from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import PluginError, UsageError
from mmeval.report.layouts.engine import filled
from mmeval.report.layouts.rows import (
    OpenRun,
    PublishedRows,
    Source,
    called,
    model_rows,
    opened,
)
from mmeval.report.layouts.tables import PaperTable
from mmeval.results.board import BoardRun
from mmeval.results.stored_run import StoredRun
from mmeval.task.layout_file import LayoutFile
from tests.support.layouts import layout_of, model
from tests.support.stored_runs import result, stored

LAYOUT = """
layout: own
axes: {rows: models, columns: tasks}
number: m
keys: {tasks: [{header: A, task: a}]}
tables: [{name: "1"}]
"""


@pytest.fixture
def layout(tmp_path: Path) -> LayoutFile:
    return layout_of(tmp_path, LAYOUT)


def run_of(folder: Path, **ours: Any) -> StoredRun:
    results = [result("a", value=0.5)]
    return stored(folder, {"a": []}, numbers=["m"], results=results, **ours)


def published(folder: Path, *models: str) -> Path:
    file = folder / "paper.csv"
    lines = [f"{name},a,m,0.5" for name in models]
    file.write_text("\n".join(["model,task,metric,value", *lines, ""]))
    return file


def table_of(layout: LayoutFile, *runs: OpenRun) -> PaperTable:
    (table,) = filled(layout, model_rows(layout, runs)).tables
    return table


def test_a_row_is_called_as_the_command_says(
    layout: LayoutFile, tmp_path: Path
) -> None:
    runs = [OpenRun(run_of(tmp_path / "x"), "Ours"), OpenRun(run_of(tmp_path / "y"))]
    assert [row.name for row in model_rows(layout, runs)] == ["Ours", "m"]


def test_the_name_of_the_run_is_behind_two_equal_names(
    layout: LayoutFile, tmp_path: Path
) -> None:
    runs = [OpenRun(run_of(tmp_path / "x")), OpenRun(run_of(tmp_path / "y"))]
    assert [row.name for row in model_rows(layout, runs)] == ["m (x)", "m (y)"]


def test_a_row_may_be_an_older_results_file(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert run.results_file is not None
    older = tmp_path / "results_2025-01-01T12-00-00.json"
    older.write_bytes(run.results_file.read_bytes())
    assert opened(BoardRun(older)).run.results_file == older


def test_the_models_of_a_published_file_may_be_chosen(
    layout: LayoutFile, tmp_path: Path
) -> None:
    source = PublishedRows(published(tmp_path, "x", "y", "z"), ("z", "y"))
    rows = model_rows(layout, [source])
    assert [(row.name, row.mark) for row in rows] == [("z", "†"), ("y", "†")]


def test_an_unknown_model_of_a_published_file_is_refused(
    layout: LayoutFile, tmp_path: Path
) -> None:
    source = PublishedRows(published(tmp_path, "Emu3"), ("Emu",))
    with pytest.raises(UsageError, match="unknown model 'Emu'"):
        model_rows(layout, [source])


@pytest.mark.parametrize(
    "ours, words",
    [
        ({"not_comparable": ["a"]}, "bundled samples"),
        ({"subset": {"a": {"chosen": 1, "of": 2}}}, "a subset of the samples"),
        ({"unfinished": {"a": {"made": 1, "of": 2}}}, "unfinished"),
        ({"uses_reference": ["a"]}, "uses reference information"),
    ],
)
def test_a_run_that_is_not_of_the_whole_benchmark_is_marked(
    layout: LayoutFile, tmp_path: Path, ours: dict[str, Any], words: str
) -> None:
    table = table_of(layout, OpenRun(run_of(tmp_path / "x", **ours)))
    assert table.blocks[0].rows[0].title.marked == "m‡"
    assert words in table.notes[0]


def test_runs_that_were_made_in_different_ways_are_noted(
    layout: LayoutFile, tmp_path: Path
) -> None:
    first = OpenRun(run_of(tmp_path / "x"), "X")
    second = OpenRun(run_of(tmp_path / "y", protocols={"a": "episode"}), "Y")
    (note,) = table_of(layout, first, second).notes
    assert note.startswith("Not comparable with X: Y (a used the protocol single")


def test_runs_are_noted_whose_numbers_a_hook_makes_from_other_tasks(
    layout: LayoutFile, tmp_path: Path
) -> None:
    runs = []
    for name, protocol in (("X", "single"), ("Y", "episode")):
        run = stored(
            tmp_path / name,
            {"level": []},
            layout="own",
            numbers=["m"],
            protocols={"level": protocol},
        )
        runs.append(OpenRun(run, name))
    rows = model_rows(layout, runs)
    numbers = model("", {"a": 0.5}).numbers
    rows = [replace(row, numbers=numbers) for row in rows]
    (table,) = filled(layout, rows).tables
    assert table.notes[-1].startswith("Not comparable with X: Y (level used")


def test_a_published_row_is_not_ranked_among_runs(
    layout: LayoutFile, tmp_path: Path
) -> None:
    ranked = layout_of(tmp_path, f"{LAYOUT}best: {{}}\n")
    sources: list[Source] = [
        OpenRun(run_of(tmp_path / "x")),
        OpenRun(run_of(tmp_path / "y")),
        PublishedRows(published(tmp_path, "theirs")),
    ]
    (table,) = filled(ranked, model_rows(ranked, sources)).tables
    rows = table.blocks[0].rows
    assert [row.cells[0].is_bold for row in rows] == [True, True, False]


def test_a_run_alone_among_published_rows_is_not_the_best(
    layout: LayoutFile, tmp_path: Path
) -> None:
    ranked = layout_of(tmp_path, f"{LAYOUT}best: {{}}\n")
    sources: list[Source] = [
        OpenRun(run_of(tmp_path / "x")),
        PublishedRows(published(tmp_path, "theirs", "others")),
    ]
    (table,) = filled(ranked, model_rows(ranked, sources)).tables
    assert not any(row.cells[0].is_bold for row in table.blocks[0].rows)


def test_a_hook_that_fails_is_an_error_of_the_layout(
    layout: LayoutFile, tmp_path: Path
) -> None:
    with pytest.raises(PluginError, match="the layout 'own' failed"):
        called(layout, "os.path:join", run_of(tmp_path / "x"))
