"""File systems without locks are stood in for by a ``flock`` that fails as theirs does:
none could be mounted here."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import RunLockedError, UsageError
from mmeval.store.lock import HeldError, Lock, is_free
from mmeval.store.run_folder import RunFolder
from mmeval.store.writer_lock import hold, wait_for_writers

NO_LOCKS = [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS]


def failing(number: int) -> Callable[[int, int], None]:
    def flock(_descriptor: int, _kind: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


@pytest.fixture(params=NO_LOCKS, ids=[errno.errorcode[number] for number in NO_LOCKS])
def without_locks(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(request.param))


def lease_of(folder: Path, *, process: int, host: str, age: float) -> Path:
    file = folder / "run.lock.lease"
    file.write_text(json.dumps({"process": process, "host": host}))
    then = time.time() - age
    os.utime(file, (then, then))
    return file


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_is_held_by_one_process_and_named(tmp_path: Path) -> None:
    file = tmp_path / "run.lock"
    with closing(Lock(file)) as lock:
        with pytest.raises(HeldError, match=f"pid {os.getpid()}"):
            Lock(file)
        assert (lock.lasts, is_free(file)) == (True, False)
    assert is_free(file)


@pytest.mark.usefixtures("without_locks")
def test_a_lease_is_held_like_a_lock_where_there_are_none(tmp_path: Path) -> None:
    test_a_lock_is_held_by_one_process_and_named(tmp_path)
    assert list(tmp_path.glob("*.lease")) == []


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    "call", ["write", "pwrite"], ids=["of the lease", "of the lock"]
)
def test_a_full_disk_leaves_no_lease_behind(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        monkeypatch.context() as patched,
        pytest.raises(OSError, match=os.strerror(errno.ENOSPC)),
    ):
        patched.setattr(os, call, full)
        Lock(tmp_path / "run.lock")
    Lock(tmp_path / "run.lock").close()


@pytest.mark.usefixtures("without_locks")
def test_a_run_folder_without_locks_is_for_one_process_and_waits_for_its_writers(
    tmp_path: Path,
) -> None:
    with (
        closing(RunFolder(tmp_path)),
        pytest.raises(RunLockedError, match=f"pid {os.getpid()}"),
    ):
        RunFolder(tmp_path)
    locks = [hold(tmp_path), hold(tmp_path)]
    with pytest.raises(RunLockedError, match="workers"):
        wait_for_writers(tmp_path, patience=-1)
    for lock in locks:
        lock.close()
    RunFolder(tmp_path).close()


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    ("host", "age"),
    [("another", 100.0), (os.uname().nodename, 0.0)],
    ids=["no sign for a minute", "a dead process"],
)
def test_a_stale_lease_is_taken_over_aloud(
    host: str, age: float, tmp_path: Path, caplog: Any
) -> None:
    lease = lease_of(tmp_path, process=ended_process(), host=host, age=age)
    with closing(Lock(tmp_path / "run.lock")):
        assert json.loads(lease.read_text())["process"] == os.getpid()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert host in caplog.text


@pytest.mark.usefixtures("without_locks")
def test_leases_of_dead_writers_of_this_host_are_removed_by_the_next_run(
    tmp_path: Path,
) -> None:
    hold(tmp_path).close()
    workers = tmp_path / "workers"
    dead = [
        lease_of(workers, process=ended_process(), host=host, age=100.0).rename(
            workers / f"lock.{host}.lease"
        )
        for host in (os.uname().nodename, "another")
    ]
    RunFolder(tmp_path).close()
    assert [lease.exists() for lease in dead] == [False, True]


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    ("process", "host"),
    [(1, os.uname().nodename), (ended_process(), "another")],
    ids=["here", "on another host"],
)
def test_a_lease_that_was_touched_is_not_taken_over(
    process: int, host: str, tmp_path: Path
) -> None:
    lease_of(tmp_path, process=process, host=host, age=20.0)
    with pytest.raises(HeldError, match=f"pid {process} on {host}"):
        Lock(tmp_path / "run.lock")


@pytest.mark.usefixtures("without_locks")
def test_a_process_whose_lease_was_taken_over_stops(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    lease = tmp_path / "run.lock.lease"
    lease.unlink()
    lease_of(tmp_path, process=1, host="another", age=0.0)
    with pytest.raises(Exception, match="took this run over"):
        folder.check_present()
    folder.close()
    assert json.loads(lease.read_text())["host"] == "another"


@pytest.mark.usefixtures("without_locks")
def test_a_lease_is_touched_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.store.lock.BEAT_SECONDS", 0.01)
    with closing(Lock(tmp_path / "run.lock")):
        lease = tmp_path / "run.lock.lease"
        os.utime(lease, (1.0, 1.0))
        until = time.monotonic() + 20
        while lease.stat().st_mtime < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert lease.stat().st_mtime > 2


@pytest.mark.usefixtures("without_locks")
def test_a_starter_that_inspected_a_stale_lease_too_late_puts_the_new_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease_of(tmp_path, process=ended_process(), host="another", age=100.0)
    file = tmp_path / "run.lock"
    faster: list[Lock] = []
    rename = Path.rename

    def after_another_starter(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        faster.append(Lock(file))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", after_another_starter)
    with pytest.raises(HeldError, match=f"pid {os.getpid()}"):
        Lock(file)
    with closing(faster[0]) as lock:
        assert lock.lasts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.lock"]


@pytest.mark.usefixtures("without_locks")
def test_a_lease_whose_holder_gave_a_sign_meanwhile_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = lease_of(tmp_path, process=7, host="another", age=100.0)
    rename = Path.rename

    def after_a_sign(path: Path, target: Path) -> Path:
        os.utime(lease)
        monkeypatch.setattr(Path, "rename", rename)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", after_a_sign)
    with pytest.raises(HeldError, match="pid 7 on another"):
        Lock(tmp_path / "run.lock")
    assert lease.exists()


@pytest.mark.usefixtures("without_locks")
def test_no_lease_is_taken_while_that_of_a_process_at_work_is_aside(
    tmp_path: Path,
) -> None:
    lease = lease_of(tmp_path, process=7, host="another", age=0.0)
    lease.rename(tmp_path / "run.lock.lease.0a.aside")
    with pytest.raises(HeldError, match="pid 7 on another"):
        Lock(tmp_path / "run.lock")
    assert not lease.exists()


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(("age", "free"), [(0.0, False), (100.0, True)])
def test_a_lock_is_not_free_while_the_lease_of_a_process_at_work_is_aside(
    age: float, free: bool, tmp_path: Path
) -> None:
    file = tmp_path / "run.lock"
    file.touch()
    lease = lease_of(tmp_path, process=7, host="another", age=age)
    lease.rename(tmp_path / "run.lock.0b.lease.0a.aside")
    assert is_free(file) is free


@pytest.mark.usefixtures("without_locks")
def test_a_stale_lease_that_a_killed_process_left_aside_is_removed(
    tmp_path: Path,
) -> None:
    lease = lease_of(tmp_path, process=7, host="another", age=100.0)
    lease.rename(tmp_path / "run.lock.lease.0a.aside")
    Lock(tmp_path / "run.lock").close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]


@pytest.mark.usefixtures("without_locks")
def test_a_lease_lasts_while_another_starter_has_it_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Lock(tmp_path / "run.lock")) as lock:
        aside = tmp_path / "run.lock.lease.0a.aside"
        lease = (tmp_path / "run.lock.lease").rename(aside)

        def put_back(_seconds: float) -> None:
            if aside.exists():
                aside.rename(tmp_path / "run.lock.lease")

        monkeypatch.setattr("mmeval.store.lock.time.sleep", put_back)
        assert lock.lasts
        assert not lease.exists()


@pytest.mark.usefixtures("without_locks")
def test_a_lease_is_put_back_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(_self: Path, _target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    test_a_starter_that_inspected_a_stale_lease_too_late_puts_the_new_one_back(
        tmp_path, monkeypatch
    )


def test_another_fault_of_the_disk_is_no_process_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.EIO))
    with pytest.raises(UsageError, match=os.strerror(errno.EIO)) as refused:
        RunFolder(tmp_path)
    assert not isinstance(refused.value, RunLockedError)
