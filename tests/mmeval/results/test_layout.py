from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.results.layout import Table, layouts_of, result_of, scores_of, tables_of
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import WrittenTrial, text, write_run


def plain(run: StoredRun) -> Iterator[Table]:
    yield Table("a table", ("Task",), tuple((task.name,) for task in run.tasks))


@pytest.fixture(autouse=True)
def _layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.layouts", "plain", plain)


def stored(folder: Path, *values: float, **more: Any) -> StoredRun:
    trials = [
        WrittenTrial(
            [text("a")],
            [text("b")],
            scores={"right": {"value": value, "status": "scored"}},
        )
        for value in values
    ]
    return StoredRun(write_run(folder, trials, **{"results": {}, **more}))


def test_the_layouts_of_a_run_are_those_of_its_groups_and_tasks_and_not_of_earlier_groups(
    tmp_path: Path,
) -> None:
    run = stored(tmp_path, 1.0, config={"layout": "plain"})
    run.record["groups"] = {
        "all": {"layout": "mmmg"},
        "bare": {"layout": ""},
        "earlier": {"layout": "other"},
    }
    run.results["group_subtasks"].update(all=[], bare=[])
    assert layouts_of(run) == ["mmmg", "plain"]


def test_a_layout_makes_its_tables_and_the_first_has_the_provenance_and_what_is_left_out(
    tmp_path: Path,
) -> None:
    run = stored(tmp_path, 1.0, results={"left_aside": {"told": ["other"]}})
    (table,) = tables_of(run, "plain")
    made, lacks = table.notes
    assert table.rows == (("told",),)
    assert "teller" in made
    assert "left out other" in lacks


def test_a_number_is_read_as_the_results_file_has_it_and_a_row_of_another_length_is_refused(
    tmp_path: Path,
) -> None:
    run = stored(tmp_path, 1.0)
    found = result_of(run, run.tasks[0], "right")
    other = scores_of(run, run.tasks[0], "other")
    assert found is not None
    assert (found.value, found.ci95) == (0.5, (0.4, 0.6))
    assert result_of(run, run.tasks[0], "other") is None
    assert (other.values, other.count("unscored")) == ([], 1)
    with pytest.raises(ValueError, match="2 cells, but the table has 1"):
        Table("t", ("A",), (("a", 1.0),))
