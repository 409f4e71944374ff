from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError, UnknownNameError
from mmeval.task.selection import select
from tests.support.task_folder import task, write_files

FOLDER = {
    "one.yaml": task("one"),
    "two.yaml": task("two", "repeats: 2"),
    "three.yaml": task("three"),
    "_template.yaml": "repeats: 4",
    "group.yaml": "group: low\ntask: [one, two]\naggregate_metric_list:\n  - metric: exact_match\n",
    "outer.yaml": "group: all\ngroup_alias: Everything\ntask: [low, three]\nmetadata: {version: 2.0}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "mine", FOLDER)


def test_groups_are_reported_outermost_first_with_their_members(folder: Path) -> None:
    groups = select(["all"], [folder]).groups
    assert [(g.name, g.alias, g.members, g.version) for g in groups] == [
        ("all", "Everything", ("low", "three"), "2.0"),
        ("low", "low", ("one", "two"), ""),
    ]
    assert [metric.metric for metric in groups[1].metrics] == ["exact_match"]


def test_inline_groups_and_overrides_are_read_where_they_stand(folder: Path) -> None:
    inline = "group: g\ntask:\n  - group: inner\n    task: [one]\n  - task: two\n    repeats: 9\n"
    selection = select(["g"], [write_files(folder, {"g.yaml": inline})])
    assert [group.members for group in selection.groups] == [("inner", "two"), ("one",)]
    assert [(task.name, task.repeats) for task in selection] == [("one", 1), ("two", 9)]


def test_a_group_may_make_a_new_task_from_a_template(folder: Path) -> None:
    inline = "group: g\ntask:\n  - task: new\n    include: _template.yaml\n    metadata: {version: 1}\n"
    (made,) = select(["g"], [write_files(folder, {"g.yaml": inline})])
    assert (made.name, made.repeats) == ("new", 4)


def test_a_task_that_is_asked_for_with_two_settings_is_refused(folder: Path) -> None:
    write_files(folder, {"g.yaml": "group: g\ntask:\n  - task: two\n    repeats: 9\n"})
    with pytest.raises(TaskFileError, match="'two' is asked for twice with different settings"):
        select(["g,two"], [folder])


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ("[g]", "the group holds itself: g -> g"),
        ("[h]", "the group holds itself: g -> h -> g"),
        ("[oen]", r"g.yaml:2: task\[0\]: unknown task, group or tag 'oen'; did you mean \"one\"\?"),
        ("[{group: g, task: [one]}]", "the group holds itself: g -> g"),
    ],
)
def test_a_group_with_impossible_members_is_refused(folder: Path, members: str, complaint: str) -> None:
    write_files(folder, {"g.yaml": f"group: g\ntask: {members}\n", "h.yaml": "group: h\ntask: [g]\n"})
    with pytest.raises(TaskFileError, match=complaint):
        select(["g"], [folder])


def test_a_group_that_aggregates_an_unknown_number_is_refused(folder: Path) -> None:
    write_files(folder, {"g.yaml": "group: g\ntask: one\naggregate_metric_list:\n  - metric: exact_mach\n"})
    with pytest.raises(TaskFileError, match=r"g.yaml:4: .* no task of the group has 'exact_mach'; did you mean"):
        select(["g"], [folder])


@pytest.mark.parametrize("name", ["group.yaml", "."], ids=["file", "folder"])
def test_a_group_that_is_named_by_path_finds_the_tasks_beside_it(folder: Path, name: str) -> None:
    selection = select([str(folder / name)])

    assert {task.name for task in selection} >= {"one", "two"}
    assert ("low", ("one", "two")) in [(group.name, group.members) for group in selection.groups]


def test_a_task_beside_a_group_is_meant_before_another_of_its_name(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = write_files(tmp_path / "other", {"one.yaml": task("one", "repeats: 7")})

    selection = select([str(folder / "group.yaml")], [other])

    assert [task.repeats for task in selection] == [1, 2]
    assert "which overrides" in caplog.text


def test_a_group_file_does_not_look_into_folders_below_it(folder: Path) -> None:
    write_files(folder, {"deep/four.yaml": task("four"), "g.yaml": "group: g\ntask: [four]\n"})

    with pytest.raises(TaskFileError, match="unknown task, group or tag 'four'"):
        select([str(folder / "g.yaml")])


def test_what_lies_beside_a_group_is_no_name_of_its_own(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="'three'"):
        select([str(folder / "group.yaml"), "three"])
