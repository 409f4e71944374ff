from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import IdentityChangedError, RunLockedError, UsageError
from mmeval.records.score import FORMAT_VERSION
from mmeval.store.run_folder import RunFolder, set_aside
from mmeval.task.task import Group, GroupMetric
from tests.support.toy import task

IDENTITY = {"model": {"backend": "hf", "revision": "abc"}, "seed": 0}
HOLDER = "import fcntl,sys\nf=open(sys.argv[1],'r+')\nfcntl.flock(f,2)\nprint('held',flush=True)\nsys.stdin.read()"


def described(folder: RunFolder, *tasks: str, identity: Mapping[str, Any] = IDENTITY, command: str = "mmeval") -> None:
    group = Group("all", "All", tasks, (GroupMetric("exact_match"),))
    folder.describe(
        identity=identity,
        provenance={"python": "3"},
        tasks={name: dict(task(name).config) for name in tasks},
        groups={"all": asdict(group)},
        data={},
        options={"limit": 3},
        command=command,
    )


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[int]:
    """Another process works in the folder; its id."""
    with closing(RunFolder(folder)):
        pass
    command = [sys.executable, "-c", HOLDER, str(folder / "run.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        (folder / "run.lock").write_text(f"pid {holder.pid} on host since noon\n")
        yield holder.pid


def test_a_second_process_is_refused_and_told_who_works_there(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path / "run") as pid, pytest.raises(RunLockedError, match=rf"\(pid {pid} on .*--run_id"):
        RunFolder(tmp_path / "run")


def test_fresh_does_not_move_a_folder_away_from_whoever_works_there(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path / "run"), pytest.raises(RunLockedError):
        set_aside(tmp_path / "run")

    assert (tmp_path / "run").exists()


def test_a_closed_folder_is_free_again(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(RunFolder(tmp_path)):
            assert f"pid {os.getpid()} " in (tmp_path / "run.lock").read_text()


def test_the_same_identity_may_continue(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        described(folder, "a")
    with closing(RunFolder(tmp_path)) as folder:
        folder.claim({"seed": 0, "model": {"revision": "abc", "backend": "hf"}}, 5)


@pytest.mark.parametrize(
    ("identity", "change"),
    [
        ({"model": {"backend": "hf", "revision": "abd"}, "seed": 0}, 'model.revision "abc" -> "abd"'),
        ({"model": {"backend": "hf"}, "seed": 0}, 'model.revision "abc" -> none'),
        ({**IDENTITY, "seed": 7}, "seed 0 -> 7"),
        ({**IDENTITY, "roles": {"helper": {"backend": "x"}}}, 'roles none -> {"helper": {"backend": "x"}}'),
    ],
    ids=["changed", "gone", "seed", "new"],
)
def test_a_changed_identity_is_refused_naming_the_field_and_three_ways_out(
    tmp_path: Path, identity: Mapping[str, Any], change: str
) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        described(folder, "a")
        with pytest.raises(IdentityChangedError) as refused:
            folder.claim(identity, 5)

    said = str(refused.value)
    assert f"({change}) after 5 answers" in said
    assert all(way in said for way in ("--model_tag", "--run_id", "--fresh"))


def test_a_folder_without_answers_may_change_its_identity(tmp_path: Path) -> None:
    with closing(RunFolder(tmp_path)) as folder:
        described(folder, "a")
        folder.claim({"model": "another"}, 0)


def test_a_run_is_extended_by_more_tasks_and_keeps_every_session(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with closing(RunFolder(tmp_path)) as folder:
            described(folder, name, command=f"mmeval --tasks {name}")

    record = RunFolder.read_record(tmp_path)
    assert list(record["tasks"]) == ["a", "b"]
    assert [session["command"] for session in record["sessions"]] == ["mmeval --tasks a", "mmeval --tasks b"]
    assert record["sessions"][0]["started"] == record["created"]


def test_what_a_later_version_wrote_beside_survives(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": 1, "annotations": ["mine"]}')
    with closing(RunFolder(tmp_path)) as folder:
        described(folder, "a")

    assert RunFolder.read_record(tmp_path)["annotations"] == ["mine"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (json.dumps({"format": FORMAT_VERSION + 1, "mmeval": "9.0"}), r"of another format .*\(9.0\)"),
        (json.dumps({"mmeval": "0.0.1"}), r"of another format .*\(0.0.1\)"),
        ('{"format": 1', "is damaged .*--fresh"),
        ("[]", "is damaged .*--fresh"),
    ],
    ids=["newer format", "no format", "torn", "not an object"],
)
def test_a_record_that_cannot_be_read_is_refused_and_the_folder_stays_free(
    tmp_path: Path, content: str, complaint: str
) -> None:
    (tmp_path / "run.json").write_text(content)

    for _ in range(2):
        with pytest.raises(UsageError, match=complaint):
            RunFolder(tmp_path)


def test_fresh_sets_earlier_runs_aside_whole(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "answers").write_text(f"{number}")
        assert set_aside(tmp_path / "run") is not None

    assert not (tmp_path / "run").exists()
    assert sorted(path.read_text() for path in tmp_path.glob("run.*/answers")) == ["1", "2"]
    assert set_aside(tmp_path / "run") is None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="choose another --output_path"):
        RunFolder(tmp_path / "file" / "run")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    folder = tmp_path / "runs" / "model" / "default"

    with pytest.raises(UsageError, match=rf"the run folder {folder} cannot be written \(.*; choose another --output"):
        RunFolder(folder)
