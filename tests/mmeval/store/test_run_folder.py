import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import IdentityChangedError, RunLockedError, UsageError
from mmeval.records.score import FORMAT_VERSION
from mmeval.store.run_folder import (
    RunFolder,
    check_identity,
    last_command,
    set_aside,
)

IDENTITY = {"model": {"backend": "hf", "revision": "abc"}, "seed": 0}


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Another process works in the folder: a lock on another opening of the file is as
    good as one of its."""
    with closing(RunFolder(folder)):
        pass
    with (folder / "run.lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (folder / "run.lock").write_text("pid 4711 on host since noon\n")
        yield


def test_neither_a_second_process_nor_fresh_takes_a_folder_from_a_process_at_work_there(
    tmp_path: Path,
) -> None:
    with (
        held(tmp_path),
        pytest.raises(RunLockedError, match=r"\(pid 4711 on .*--run_id"),
    ):
        RunFolder(tmp_path)
    with held(tmp_path / "run"), pytest.raises(RunLockedError):
        set_aside(tmp_path / "run")
    assert (tmp_path / "run").exists()


def test_a_changed_identity_counts_the_calls_of_all_roles(tmp_path: Path) -> None:
    record = {"identity": {"seed": 0}}
    with pytest.raises(IdentityChangedError, match=r"calls answered before: 121\. "):
        check_identity(tmp_path, record, {"seed": 1}, 121)


@pytest.mark.parametrize(
    ("identity", "change"),
    [
        (
            {"model": {"backend": "hf", "revision": "abd"}, "seed": 0},
            'model.revision "abc" -> "abd"',
        ),
        ({"model": {"backend": "hf"}, "seed": 0}, 'model.revision "abc" -> none'),
        ({**IDENTITY, "seed": 7}, "seed 0 -> 7"),
        (
            {**IDENTITY, "roles": {"helper": {"backend": "x"}}},
            'roles none -> {"helper": {"backend": "x"}}',
        ),
    ],
    ids=["changed", "gone", "seed", "new"],
)
def test_a_changed_identity_is_refused_by_its_field(
    tmp_path: Path, identity: Mapping[str, Any], change: str
) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        nothing: dict[str, Any] = {
            key: {} for key in ("provenance", "tasks", "groups", "data", "options")
        }
        folder.describe(identity=IDENTITY, command="mmeval", **nothing)
        check_identity(tmp_path, folder.record, identity, 0)
        with pytest.raises(IdentityChangedError) as refused:
            check_identity(tmp_path, folder.record, identity, 5)
    shown = str(refused.value)
    assert all(
        words in shown
        for words in (f"({change})", ": 5. ", "--model_tag", "--run_id", "--fresh")
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            json.dumps({"format": FORMAT_VERSION + 1, "mmeval": "9.0"}),
            r"format.* 9\.0,",
        ),
        (json.dumps({"format": 1, "mmeval": "0.1.0"}), r"format.* 0\.1\.0,"),
        (json.dumps({"tasks": {}}), "damaged"),
        ('{"format": 2', "damaged"),
        ("[]", "damaged"),
    ],
    ids=["newer format", "before checksums", "no format", "torn", "not an object"],
)
def test_a_record_that_cannot_be_read_is_refused(
    tmp_path: Path, content: str, words: str
) -> None:
    (tmp_path / "run.json").write_text(content)
    for _ in range(2):
        with pytest.raises(UsageError, match=words):
            RunFolder(tmp_path)


def test_fresh_sets_earlier_runs_aside_whole(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "answers").write_text(f"{number}")
        assert set_aside(tmp_path / "run") is not None
    assert not (tmp_path / "run").exists()
    assert sorted(path.read_text() for path in tmp_path.glob("run.*/answers")) == [
        "1",
        "2",
    ]
    assert set_aside(tmp_path / "run") is None


@pytest.mark.parametrize(
    ("record", "command"),
    [
        ({}, ""),
        ({"sessions": [{"command": "mmeval a"}, {"command": "mmeval b"}]}, "mmeval b"),
        # it would ask again what is answered
        ({"sessions": [{"command": "mmeval --fresh"}]}, "mmeval --fresh --fresh false"),
        # its shards have commands of their own
        ({"sessions": [{"command": "mmeval merge r"}], "merged": {}}, ""),
    ],
    ids=["no session", "two sessions", "one that starts over", "merged shards"],
)
def test_the_command_that_goes_on_with_a_run(
    record: dict[str, Any], command: str
) -> None:
    assert last_command(record) == command
