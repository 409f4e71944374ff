from __future__ import annotations

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mmeval.errors import AmbiguousNameError, MissingDataError, TaskFileError, UnknownNameError, UsageError
from mmeval.system.yaml_document import Document
from mmeval.task.file import OF_A_RUN, parse_task, word_for
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose, select
from mmeval.task.task import Selection, TaskOverrides
from tests.support.task_folder import installed, task, write_files

FOLDER = {
    "one.yaml": task("one", "tag: [odd, small]"),
    "two.yaml": task("two", "include: _shared"),
    "deep/three.yaml": task("three", "tag: odd"),
    "_shared": "tag: even\nrepeats: 2",
    "_template.yaml": "repeats: 4",
    "group.yaml": "group: low\ntask: [one, two]\naggregate_metric_list:\n  - metric: exact_match\n",
    "outer.yaml": "group: all\ngroup_alias: Everything\ntask: [low, three]\nmetadata: {version: 2.0}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "mine", FOLDER)


def chosen(folder: Path, *names: str) -> list[str]:
    return [task.name for task in select(names, [folder])]


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["one"], ["one"]),
        (["two,one three"], ["two", "one", "three"]),
        (["odd"], ["one", "three"]),
        (["even"], ["two"]),
        (["t*"], ["three", "two"]),
        (["low"], ["one", "two"]),
        (["all"], ["one", "two", "three"]),
        (["three", "all", "one"], ["three", "one", "two"]),
    ],
    ids=["task", "list", "tag", "tag of a template", "glob", "group", "nested groups", "named twice"],
)
def test_names_select_each_task_once_in_the_order_named(folder: Path, names: list[str], tasks: list[str]) -> None:
    assert chosen(folder, *names) == tasks


def test_a_file_and_a_folder_select_what_they_hold(folder: Path) -> None:
    assert chosen(folder, str(folder / "deep/three.yaml")) == ["three"]
    assert chosen(folder, str(folder / "deep")) == ["three"]
    assert [task.name for task in select([str(folder / "deep/three.yaml")])] == ["three"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("oen", r"unknown task, group or tag 'oen'; did you mean \"one\"\?.*mmeval ls tasks"),
        ("zz*", r"unknown task, group or tag 'zz\*'"),
        ("gone/x.yaml", "gone/x.yaml: there is no such task file"),
        (" , ", "no task is named"),
    ],
)
def test_a_name_that_selects_nothing_is_refused_with_the_way_out(folder: Path, name: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        select([name], [folder])


def test_a_template_named_as_a_task_is_refused(folder: Path) -> None:
    with pytest.raises(TaskFileError, match=r"_template.yaml: is a template"):
        select([str(folder / "_template.yaml")])


def test_a_broken_file_stops_only_those_who_name_or_list_it(folder: Path) -> None:
    write_files(folder, {"broken.yaml": "task: broken\nrepeats: [1\n"})
    assert chosen(folder, "one") == ["one"]
    with pytest.raises(TaskFileError, match=r"broken.yaml:\d: not valid YAML"):
        select(["broken"], [folder])
    problems = {entry.name: entry.problem for entry in TaskIndex([folder]).listing() if entry.problem}
    assert list(problems) == ["broken"]


@pytest.mark.parametrize("name", ["on*", "handy"], ids=["glob", "tag"])
def test_an_override_that_a_glob_or_a_tag_chooses_is_said_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mine = write_files(tmp_path / "mine", {"one.yaml": task("one", "tag: handy"), "other.yaml": task("on_my_own")})
    theirs = {"aloud": {"one.yaml": task("one", "tag: handy")}}
    with installed(tmp_path / "site", monkeypatch, theirs), caplog.at_level(logging.WARNING):
        select([name], [mine])
    assert [record.message for record in caplog.records] == [
        f"one is read from {mine / 'one.yaml'}, which overrides {tmp_path / 'site/pkg_aloud/one.yaml'}"
    ]


def test_the_include_path_overrides_a_package_aloud(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(tmp_path / "site", monkeypatch, {"aloud": {"one.yaml": task("one", "repeats: 3")}}):
        with caplog.at_level(logging.WARNING):
            (mine,) = select(["one"], [folder])
        (theirs,) = select(["aloud/one"], [folder])
    assert (mine.repeats, theirs.repeats, theirs.name) == (1, 3, "aloud/one")
    assert [record.message for record in caplog.records] == [
        f"one is read from {folder / 'one.yaml'}, which overrides {tmp_path / 'site/pkg_aloud/one.yaml'}"
    ]


def test_a_name_that_two_packages_claim_fails_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"left": {"a.yaml": task("same"), "b.yaml": task("left_only")}, "right": {"a.yaml": task("same")}}
    with installed(tmp_path, monkeypatch, packages):
        with pytest.raises(AmbiguousNameError, match=r"dist-left .*dist-right .*write left/same or right/same"):
            select(["same"])
        assert [task.name for task in select(["left/same,right/same,left_only"])] == [
            "left/same",
            "right/same",
            "left_only",
        ]


def test_two_files_of_a_package_with_one_name_are_ambiguous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"twice": {"a.yaml": task("t"), "b.yaml": task("t")}}
    complaint = r"a.yaml.*b.yaml.*rename one, or remove one"
    with installed(tmp_path, monkeypatch, packages), pytest.raises(AmbiguousNameError, match=complaint):
        select(["twice/t"])


def test_a_missing_package_is_reported_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(tmp_path, monkeypatch, {"here": {"a.yaml": task("here_a")}, "gone": {}}) as folders:
        (folders["gone"] / "__init__.py").unlink()
        folders["gone"].rmdir()
        assert [task.name for task in select(["here_a"])] == ["here_a"]
    assert "the tasks 'gone' of dist-gone are missing" in caplog.text


def test_an_include_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--include_path .*gone: there is no such folder"):
        TaskIndex([tmp_path / "gone"])


def test_bundled_samples_are_asked_of_all_tasks_at_once(folder: Path) -> None:
    write_files(folder, {"bundled/test.jsonl": "", "deep/.keep": ""})
    with pytest.raises(MissingDataError, match=r"no bundled samples: three;"):
        select(["all"], [folder], TaskOverrides(data="bundled"))


@pytest.mark.parametrize(
    ("overrides", "flag"),
    [
        (TaskOverrides(metric_args={"exact_mach": {}}), "--metric_args"),
        (TaskOverrides(skip_metric=("exact_mach",)), "--skip_metric"),
    ],
)
def test_a_metric_that_no_chosen_task_has_is_refused(folder: Path, overrides: TaskOverrides, flag: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"did you mean \"exact_match\"\? {flag} takes a metric"):
        select(["one"], [folder], overrides)


def test_choosing_loads_no_plugin(folder: Path) -> None:
    write_files(folder, {"odd.yaml": task("odd_one", "loader: not_there")})
    assert list(choose(["odd_one"], TaskIndex([folder])).tasks) == ["odd_one"]


def test_an_index_of_300_files_is_listed_fast(tmp_path: Path) -> None:
    write_files(tmp_path, {f"d{i % 10}/t{i}.yaml": task(f"t{i}", "include: ../_base") for i in range(300)})
    write_files(tmp_path, {"_base": "tag: many\nrepeats: 2"})
    began = time.perf_counter()
    listed = [entry.name for entry in TaskIndex([tmp_path]).listing() if "many" in entry.tags]
    seconds = time.perf_counter() - began
    assert len(listed) == 300
    assert seconds < 1.5, "takes about 0.1 s on an idle machine"


def test_listing_needs_neither_the_schema_nor_the_templates(folder: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from mmeval.task.index import TaskIndex\n"
        "print(len(list(TaskIndex([pathlib.Path(sys.argv[1])]).listing())) > 4)\n"
        "print(sorted({'pydantic', 'jinja2', 'numpy'} & set(sys.modules)))\n"
    )
    argv = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert done.stdout.split("\n")[:2] == ["True", "[]"]


def test_a_selection_is_what_it_iterates_over(folder: Path) -> None:
    selection = select(["low"], [folder])
    assert isinstance(selection, Selection)
    assert tuple(selection) == selection.tasks


def test_a_task_that_a_run_has_recorded_is_told_by_its_name() -> None:
    keys = {"task": "one", "loader": "rows", "metric_list": [], "metadata": {"version": 1}}

    assert word_for(parse_task(Document(Path(f"{OF_A_RUN}one"), keys))) == "one"
