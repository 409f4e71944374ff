from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.errors import PluginError, UnknownNameError
from mmeval.results.layout import Table, layouts_of, load_layout, result_of, scores_of, tables_of
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run


def plain(run: StoredRun) -> Iterator[Table]:
    yield Table("a table", ("Task",), tuple((task.name,) for task in run.tasks))


def broken(run: StoredRun) -> Iterator[Table]:
    raise KeyError(run.name)


@pytest.fixture(autouse=True)
def _layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    for function in (plain, broken):
        plugins.register("mmeval.layouts", function.__name__, function)


def stored(folder: Path, *values: float, **more: Any) -> StoredRun:
    told = [Told([text("a")], [text("b")], scores={"right": {"value": value, "status": "scored"}}) for value in values]
    return StoredRun(write_run(folder, told, **{"results": {}, **more}))


def test_the_layouts_of_a_run_are_those_of_its_groups_and_tasks(tmp_path: Path) -> None:
    run = stored(tmp_path, 1.0, config={"layout": "plain"})
    run.record["groups"] = {"all": {"layout": "mmmg"}, "bare": {"layout": ""}}
    run.results["group_subtasks"].update(all=[], bare=[])
    assert layouts_of(run) == ["mmmg", "plain"]


def test_a_group_of_an_earlier_command_in_the_folder_brings_none(tmp_path: Path) -> None:
    run = stored(tmp_path, 1.0)
    run.record["groups"] = {"earlier": {"layout": "mmmg"}}
    assert layouts_of(run) == []


def test_a_layout_makes_its_tables(tmp_path: Path) -> None:
    assert [table.rows for table in tables_of(stored(tmp_path, 1.0), "plain")] == [(("told",),)]


def test_the_first_table_says_with_whom_the_numbers_were_made_and_what_lacks(tmp_path: Path) -> None:
    (table,) = tables_of(stored(tmp_path, 1.0, results={"left_aside": {"told": ["other"]}}), "plain")
    made, lacks = table.notes
    assert (made.startswith("Made with model: teller"), lacks.startswith("These results are without other")) == (
        True,
        True,
    )


def test_one_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="the layout 'broken' failed"):
        tables_of(stored(tmp_path, 1.0), "broken")


def test_an_unknown_one_is_refused_with_a_near_name() -> None:
    with pytest.raises(UnknownNameError, match="unknown layout 'mmgm'; did you mean \"mmmg\""):
        load_layout("mmgm")


def test_the_scores_of_a_number_are_those_of_the_trials_that_count(tmp_path: Path) -> None:
    run = stored(tmp_path, 1.0, 0.0, 0.5, results={"asked": {"told": {"repeats": 1, "samples": [[1, 2]]}}})
    found = scores_of(run, run.tasks[0], "right")
    assert (found.values, found.range) == ([0.0, 0.5], (0, 1))


def test_a_number_that_nobody_has_scored_is_unscored_in_every_trial(tmp_path: Path) -> None:
    run = stored(tmp_path, 1.0)
    found = scores_of(run, run.tasks[0], "other")
    assert (found.values, found.count("unscored"), result_of(run, run.tasks[0], "other")) == ([], 1, None)


def test_a_number_is_read_as_the_results_file_has_it(tmp_path: Path) -> None:
    run = stored(tmp_path, 1.0)
    found = result_of(run, run.tasks[0], "right")
    assert found is not None
    assert (found.value, found.ci95) == (0.5, (0.4, 0.6))


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row has 2 cells below 1 headers"):
        Table("t", ("A",), (("a", 1.0),))
