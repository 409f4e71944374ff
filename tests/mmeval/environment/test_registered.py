from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.environment import registered
from mmeval.task.index import TaskIndex
from tests.support.task_folder import installed, task, write_files

MORE = (
    "[mmeval.aggregators]\nill = ill_package:x\nneedy = needy_package:x\nmean = "
    "mmeval.aggregate.aggregators:median\n"
)


def test_a_plugin_that_does_not_load_is_named_unless_an_extra_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = "from mmeval.system.extras import need\nneed('no_such_package', 'audio')\n"
    write_files(
        tmp_path,
        {
            "ill_package.py": "raise RuntimeError('out of sorts')\n",
            "needy_package.py": need,
        },
    )
    monkeypatch.setattr(plugins, "GROUPS", ("mmeval.aggregators", "mmeval.tasks"))
    with installed(tmp_path, monkeypatch, {"odd": {}}, more=MORE):
        (ill,) = registered.loaded()
        (clash,) = registered.clashes()
    assert (ill.kind, ill.severity) == ("plugin", "error")
    assert "dist-odd/ill" in ill.subject.name
    assert "RuntimeError: out of sorts" in ill.cause
    assert (clash.severity, clash.subject.name.split()[0]) == ("note", "mean")
    assert "dist-odd/mean or mmeval/mean" in clash.cause


def test_unreadable_task_files_are_errors_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.yaml": task("a"), "b.yaml": "task: b\nx: ["}
    write_files(tmp_path, files)
    monkeypatch.setattr(
        registered,
        "TaskIndex",
        lambda path: TaskIndex(roots=[]).with_folder(path[0], deep=True),
    )
    (torn,) = registered.task_files([tmp_path])
    assert (torn.kind, torn.severity) == ("task_file", "error")
    assert torn.subject.file == str(tmp_path / "b.yaml")
