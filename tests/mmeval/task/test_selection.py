from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, TaskFileError, UnknownNameError, UsageError
from mmeval.task.selection import select
from mmeval.task.task import GroupMetric, TaskOverrides
from tests.support.task_folder import task, write_files

FOLDER = {
    "one.yaml": task("one", "tag: [odd, small]"),
    "two.yaml": task("two", "include: _shared"),
    "deep/three.yaml": task("three", "tag: odd"),
    "_shared": "tag: even\nrepeats: 2",
    "_template.yaml": "repeats: 4",
    "group.yaml": "group: low\ntask: [one, two]\naggregate_metric_list:\n  - metric: "
    "exact_match\n",
    "outer.yaml": "group: all\ngroup_alias: Everything\ntask: [low, three]\nmetadata: "
    "{version: 2.0}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "mine", FOLDER)


@pytest.mark.parametrize(
    ("asked", "tasks"),
    [
        (["one"], ["one"]),
        (["odd"], ["one", "three"]),
        (["t*"], ["three", "two"]),
        (["all"], ["one", "two", "three"]),
        (["three", "all", "one"], ["three", "one", "two"]),
        (["{folder}/deep/three.yaml"], ["three"]),
    ],
    ids=["task", "tag", "glob", "nested", "twice", "file"],
)
def test_names_select_each_task_once_in_the_order_named(
    folder: Path, asked: list[str], tasks: list[str]
) -> None:
    chosen = select([name.format(folder=folder) for name in asked], [folder])
    assert [task.name for task in chosen] == tasks


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("zz*", UnknownNameError, "'zz*'"),
        (" , ", UsageError, "--tasks"),
        ("{folder}/_template.yaml", TaskFileError, "_template.yaml"),
    ],
)
def test_a_name_that_selects_nothing_is_refused(
    folder: Path, name: str, kind: type[UsageError], word: str
) -> None:
    with pytest.raises(kind) as caught:
        select([name.format(folder=folder)], [folder])
    assert type(caught.value) is kind
    assert word in str(caught.value)


def test_groups_are_reported_outermost_first_with_their_members(folder: Path) -> None:
    groups = select(["all"], [folder]).groups
    assert [
        (group.name, group.alias, group.members, group.version, group.metrics)
        for group in groups
    ] == [
        ("all", "Everything", ("low", "three"), "2.0", ()),
        ("low", "low", ("one", "two"), "", (GroupMetric("exact_match"),)),
    ]


def test_inline_groups_overrides_and_new_tasks_are_read_where_they_stand(
    folder: Path,
) -> None:
    inline = (
        "group: g\ntask:\n  - group: inner\n    task: [one]\n  - task: two\n    "
        "repeats: 9\n"
    )
    new = "  - task: new\n    include: _template.yaml\n    metadata: {version: 1}\n"
    selection = select(["g"], [write_files(folder, {"g.yaml": inline + new})])
    assert [group.members for group in selection.groups] == [
        ("inner", "two", "new"),
        ("one",),
    ]
    assert [(task.name, task.repeats) for task in selection] == [
        ("one", 1),
        ("two", 9),
        ("new", 4),
    ]


def test_an_impossible_group_is_refused(folder: Path) -> None:
    for members, line, word in (
        ("[{group: g, task: [one]}]", 2, "g -> g"),
        ("[h]", 0, "g -> h -> g"),
        ("[oen]", 2, '"one"'),
        ("[{task: gone, repeats: 2}]", 2, "'gone'"),
    ):
        write_files(
            folder,
            {
                "g.yaml": f"group: g\ntask: {members}\n",
                "h.yaml": "group: h\ntask: [g]\n",
            },
        )
        with pytest.raises(TaskFileError) as caught:
            select(["g"], [folder])
        assert (caught.value.line, word in str(caught.value)) == (line, True)


@pytest.mark.parametrize("name", ["group.yaml", "."], ids=["file", "folder"])
def test_a_task_beside_a_group_comes_first(
    name: str, folder: Path, tmp_path: Path, caplog: Any
) -> None:
    other = write_files(tmp_path / "other", {"one.yaml": task("one", "repeats: 7")})
    selection = select([str(folder / name)], [other])
    assert [task.repeats for task in selection][:2] == [1, 2]
    assert ("low", ("one", "two")) in [
        (group.name, group.members) for group in selection.groups
    ]
    assert [record.getMessage().split()[0] for record in caplog.records] == ["one"]


def test_bundled_samples_are_asked_of_all_tasks_at_once(folder: Path) -> None:
    write_files(folder, {"bundled/test.jsonl": "", "deep/.keep": ""})
    with pytest.raises(MissingDataError) as caught:
        select(["all"], [folder], TaskOverrides(data="bundled"))
    assert "samples: three;" in str(caught.value)
