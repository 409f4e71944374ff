"""File systems without locks are stood in for by a ``flock`` that fails as theirs does:
none could be mounted here."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from filelock import SoftFileLease

from mmeval.errors import RunLockedError, StorageError, UsageError
from mmeval.store import lock as module
from mmeval.store.lock import Lock, LockHeldError, becomes_free
from mmeval.store.run_folder import RunFolder
from mmeval.store.writer_lock import hold, wait_for_writers

NO_LOCKS = [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS]


def failing(number: int) -> Callable[[int, int], None]:
    def flock(_descriptor: int, _kind: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch, no_flock: None) -> None:
    """No locks, and leases that end soon."""
    monkeypatch.setattr(module, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.05)


def lease_of(folder: Path, *, process: int, host: str = "") -> Path:
    """The lease that a process has left behind, on this host unless another is
    named."""
    file = folder / "run.lock.lease"
    with SoftFileLease(file, timeout=9, lease_duration=module.LEASE_SECONDS):
        lines = file.read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines[1:])
    fields["pid"] = str(process)
    fields["token"] = "of another process"
    if host:
        fields["host"] = host
    written = [lines[0], *(f"{name}={value}" for name, value in fields.items())]
    file.write_text("\n".join(written) + "\n")
    return file


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_is_refused_while_another_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "run.lock"
    with (
        closing(Lock(file)),
        pytest.raises(LockHeldError, match=f"pid {os.getpid()}"),
    ):
        Lock(file)


def test_a_lock_lasts_until_its_file_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "run.lock"
    with closing(Lock(file)) as lock:
        assert lock.is_held
        file.unlink()
        assert not lock.is_held


def test_a_file_becomes_free_when_its_lock_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "run.lock"
    with closing(Lock(file)):
        assert not becomes_free(file, patience=0)
    assert becomes_free(file, patience=0)


@pytest.mark.usefixtures("no_flock")
def test_a_lease_of_a_process_at_work_on_this_host_is_refused_at_once(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.lock"
    start = time.monotonic()
    with (
        closing(Lock(file)),
        pytest.raises(LockHeldError, match=f"pid {os.getpid()}"),
    ):
        Lock(file)
    assert time.monotonic() - start < module.BEAT_SECONDS


@pytest.mark.usefixtures("no_flock")
def test_a_lease_of_another_host_is_refused_when_it_is_touched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = lease_of(tmp_path, process=7, host="another")
    monkeypatch.setattr(time, "sleep", lambda _: os.utime(lease, (1, 1)))
    with pytest.raises(LockHeldError, match="pid 7 on another") as refused:
        Lock(tmp_path / "run.lock")
    assert "remove" not in str(refused.value), "its holder is at work"
    assert "to see whether pid 7 on another" in caplog.text


@pytest.mark.usefixtures("without_locks")
def test_a_lease_that_cannot_be_taken_over_is_named_to_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = lease_of(tmp_path, process=7, host="another")
    monkeypatch.setattr(module, "_is_acquired", lambda _: False)
    with pytest.raises(LockHeldError, match=f"if it has ended, remove {lease}"):
        Lock(tmp_path / "run.lock")


@pytest.mark.parametrize("number", NO_LOCKS, ids=errno.errorcode.get)
def test_a_lease_is_taken_where_there_are_no_locks(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(number))
    with closing(Lock(tmp_path / "run.lock")):
        assert (tmp_path / "run.lock.lease").exists()


@pytest.mark.usefixtures("without_locks")
def test_a_lease_goes_with_its_lock(tmp_path: Path) -> None:
    Lock(tmp_path / "run.lock").close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]


@pytest.mark.usefixtures("without_locks")
def test_a_full_disk_leaves_no_lease_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        Lock(tmp_path / "run.lock")
    assert not (tmp_path / "run.lock.lease").exists()


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    "host", ["", "another"], ids=["a dead process of this host", "another host"]
)
def test_a_lease_without_signs_is_taken_over(host: str, tmp_path: Path) -> None:
    lease = lease_of(tmp_path, process=ended_process(), host=host)
    with closing(Lock(tmp_path / "run.lock")) as lock:
        assert f"pid={os.getpid()}\n" in lease.read_text()
        assert lock.is_held


@pytest.mark.usefixtures("without_locks")
def test_a_process_whose_lease_was_taken_over_stops(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    lease = tmp_path / "run.lock.lease"
    lease.unlink()
    lease_of(tmp_path, process=1, host="another")
    with pytest.raises(StorageError, match="took over this run"):
        folder.check_present()
    folder.close()
    assert "host=another\n" in lease.read_text()


@pytest.mark.usefixtures("no_flock")
def test_a_lease_that_is_removed_does_not_last(tmp_path: Path) -> None:
    with closing(Lock(tmp_path / "run.lock")) as lock:
        (tmp_path / "run.lock.lease").unlink()
        assert not lock.is_held


@pytest.mark.usefixtures("no_flock")
def test_a_lease_that_is_put_aside_for_a_moment_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = tmp_path / "run.lock.lease"
    aside = tmp_path / "aside"
    with closing(Lock(tmp_path / "run.lock")) as lock:
        lease.rename(aside)
        monkeypatch.setattr(time, "sleep", lambda _: aside.rename(lease))
        assert lock.is_held


@pytest.mark.usefixtures("without_locks")
def test_a_run_folder_without_locks_waits_for_its_writers(tmp_path: Path) -> None:
    writers = [hold(tmp_path), hold(tmp_path)]
    with pytest.raises(RunLockedError, match="workers"):
        wait_for_writers(tmp_path, patience=0)
    for writer in writers:
        writer.close()
    wait_for_writers(tmp_path, patience=0)


@pytest.mark.usefixtures("without_locks")
def test_writers_that_give_no_signs_are_waited_for_no_longer_than_a_lease(
    tmp_path: Path,
) -> None:
    hold(tmp_path).close()
    workers = tmp_path / "workers"
    lease = lease_of(workers, process=7, host="another")
    lease.rename(workers / "lock.0a.lease")
    wait_for_writers(tmp_path, patience=20)
    assert [path.name for path in workers.iterdir()] == ["lock"]


@pytest.mark.usefixtures("no_flock")
def test_leases_of_several_dead_writers_end_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.2)
    hold(tmp_path).close()
    workers = tmp_path / "workers"
    for number in range(3):
        lease = lease_of(workers, process=7, host="another")
        lease.rename(workers / f"lock.{number}.lease")
    wait_for_writers(tmp_path, patience=2.0)
    assert [path.name for path in workers.iterdir()] == ["lock"]


def test_another_fault_of_the_disk_is_no_process_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.EIO))
    with pytest.raises(UsageError, match=os.strerror(errno.EIO)) as refused:
        RunFolder(tmp_path)
    assert not isinstance(refused.value, RunLockedError)
