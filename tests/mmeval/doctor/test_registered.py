from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.doctor import registered
from mmeval.task.index import TaskIndex
from tests.support.task_folder import installed, task, write_files

MORE = (
    "[mmeval.aggregators]\nill = ill_package:x\nneedy = needy_package:x\nmean = "
    "mmeval.aggregate.aggregators:median\n"
)


def test_a_plugin_that_does_not_load_is_named_others_counted(
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
        ill, needy, whole = sorted(
            registered.loaded(), key=lambda finding: finding.status
        )
        (clash,) = registered.clashes()
        own = sum(
            plugins.distribution_of(entry) == "mmeval"
            for entry in plugins.entries("mmeval.aggregators")
        )
    assert (ill.status, ill.how_to.endswith("pip uninstall dist-odd")) == (
        "broken",
        True,
    )
    assert "dist-odd/ill" in ill.what and "RuntimeError: out of sorts" in ill.what
    assert (needy.status, needy.how_to, "dist-odd/needy" in needy.what) == (
        "missing",
        "",
        True,
    )
    assert (whole.status, whole.what.startswith(f"{own + 1} plugins")) == ("ok", True)
    assert f"dist-odd 1, mmeval {own}" in whole.what
    assert (clash.status, clash.how_to) == (
        "note",
        "write dist-odd/mean or mmeval/mean",
    )


def test_unreadable_task_files_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(
        tmp_path,
        {
            "a.yaml": task("a"),
            "b.yaml": "task: b\nx: [",
            "g.yaml": "group: g\ntask: a\n",
        },
    )
    monkeypatch.setattr(
        registered,
        "TaskIndex",
        lambda path: TaskIndex(roots=[]).with_folder(path[0], deep=True),
    )
    torn, known = registered.task_files([tmp_path])
    assert (torn.status, torn.how_to) == (
        "broken",
        f"mmeval validate {tmp_path / 'b.yaml'}",
    )
    assert (known.status, known.what.partition(" ")[0]) == ("ok", "1")
