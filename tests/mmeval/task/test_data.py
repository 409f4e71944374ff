from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, NotFetchedError, TaskFileError, UsageError
from mmeval.findings.finding import Subject
from mmeval.findings.from_error import finding_of
from mmeval.task.build import build
from mmeval.task.data import TaskData
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from tests.support.servers import at_hub
from tests.support.task_folder import built, ids, task, write_files, write_rows

ROW = {"id": "s", "input": "q"}


@pytest.mark.parametrize(
    ("more", "overrides", "name", "word"),
    [
        ("dataset_path: /gone/away", {}, "dataset_path", "/gone/away"),
        ("dataset_path: ~nosuchuser/a", {}, "dataset_path", "'~nosuchuser/a'"),
        ("dataset_path: rows/", {}, "dataset_path", "'rows/'"),
        ("", {"data_dir": Path("/gone")}, "--data_dir", "/gone"),
        ("", {"data": "bundled"}, "--data", "t"),
    ],
)
def test_missing_data_are_found_first(
    tmp_path: Path, more: str, overrides: Any, name: str, word: str
) -> None:
    with pytest.raises(MissingDataError) as caught:
        built(tmp_path, more, **overrides).dataset()
    assert (type(caught.value), caught.value.name) == (MissingDataError, name)
    assert word in str(caught.value)


def test_an_unknown_option_of_the_loader_is_refused_with_its_place(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path / "rows", ROW)
    with pytest.raises(UsageError, match=r"t\.yaml:\d+: .*'revison'.*data_file"):
        built(tmp_path, "dataset_path: rows\ndataset_kwargs: {revison: x}").dataset()


def test_without_fetching_data_come_from_the_cache_alone(tmp_path: Path) -> None:
    made = built(tmp_path, f"dataset_path: org/name\nrevision: {'a' * 40}").dataset
    assert isinstance(made, TaskData)
    cached = replace(made, fetch=False)
    with at_hub("", tmp_path):
        with pytest.raises(NotFetchedError, match="mmeval prepare t"):
            _ = cached.folder
        folder = write_rows(
            tmp_path / "hub" / "datasets--org--name" / "snapshots" / ("a" * 40), ROW
        )
        assert cached.folder == folder


def test_the_record_of_a_hub_snapshot_names_its_commit(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots" / ("0123456789" * 4)
    write_rows(folder, ROW)
    found = built(
        tmp_path, "dataset_path: org/name\nrevision: main", data_dir=folder
    ).source()
    assert found == {
        "path": "org/name",
        "revision": "main",
        "commit": folder.name,
        "bundled": False,
    }


def test_data_are_found_beside_their_file_or_template_and_recorded_without_paths_of_the_machine(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path / "rows", ROW)
    for path in ("rows", str(tmp_path / "rows")):
        made = built(tmp_path, f"dataset_path: {path}")
        assert ids(made) == ["s"]
        assert made.source() == {
            "path": "rows",
            "revision": "",
            "commit": "",
            "bundled": False,
        }
    write_files(
        tmp_path,
        {"_base": "dataset_path: rows", "sub/t.yaml": task("t", "include: ../_base")},
    )
    assert ids(
        build(parse_task(TaskFiles([tmp_path]).document(tmp_path / "sub/t.yaml")))
    ) == ["s"]


@pytest.mark.parametrize(
    ("path", "below"),
    [("org/name", "data/org/name"), ("org/name", "data"), ("../outside", "data")],
)
def test_data_dir_holds_the_data_set_or_is_it(
    tmp_path: Path, path: str, below: str
) -> None:
    write_rows(tmp_path / below, ROW)
    write_rows(tmp_path / "outside", {**ROW, "id": "other"})
    assert ids(
        built(tmp_path, f"dataset_path: {path}", data_dir=tmp_path / "data")
    ) == ["s"]


def test_bundled_samples_lie_beside_the_file_and_are_not_comparable(
    tmp_path: Path,
) -> None:
    write_rows(tmp_path / "bundled", ROW)
    keys = "dataset_path: org/name\nexpected: {rows: 5, samples: 4}"
    made = built(tmp_path, keys, data="bundled")
    assert (
        ids(made),
        made.comparable,
        made.config["data"],
        made.source()["bundled"],
        made.expected,
    ) == (
        ["s"],
        False,
        "bundled",
        True,
        (None, None),
    )
    assert built(tmp_path, keys).expected == (5, 4)
    with pytest.raises(TaskFileError) as caught:
        built(tmp_path, "bundled: ../x", data="bundled")
    assert (caught.value.line, caught.value.name) == (5, "bundled")


def test_data_that_the_hub_does_not_give_state_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    with at_hub("", tmp_path), pytest.raises(NotFetchedError) as caught:
        built(tmp_path, "dataset_path: org/no_such_name").dataset()
    error = caught.value
    assert (error.name, error.command) == ("org/no_such_name", "mmeval prepare t")
    assert "(HF_DATASETS_OFFLINE is set)" in str(error)


def test_the_finding_of_data_that_are_not_here_depends_on_the_data_set_alone(
    tmp_path: Path,
) -> None:
    fetching = built(tmp_path, "dataset_path: org/no_such_name").dataset
    assert isinstance(fetching, TaskData)
    found = []
    for data in (fetching, replace(fetching, fetch=False)):
        with pytest.raises(NotFetchedError) as caught:
            data()
        found.append(finding_of(caught.value, Subject("t")))
    assert found[0] == found[1]
    assert found[0].subject == Subject("t", name="org/no_such_name")
    assert found[0].remedy == "mmeval prepare {TASK}"


def test_a_data_set_that_is_read_from_the_hub_comes_from_the_cache_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the library waits longer before each of its tries
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    keys = f"dataset_path: org/name\nrevision: {'a' * 40}\nloader: datasets"
    with at_hub("http://127.0.0.1:9", tmp_path, offline=False):
        folder = tmp_path / "hub" / "datasets--org--name" / "snapshots" / ("a" * 40)
        write_rows(folder, ROW)
        made = built(tmp_path, keys).dataset
        assert isinstance(made, TaskData)
        assert (made.streamed, made.folder) == ("", folder)
