"""The kernel's folder of control groups is stood in for by a plain one: none that limits
memory can be had here."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.model_backends.sandbox import memory_group
from mmeval.model_backends.sandbox.memory_group import (
    MemoryGroup,
    kernel_limits_memory,
    parent_group,
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of this process's group, below one that was delegated."""
    folder = tmp_path / "delegated" / "own"
    folder.mkdir(parents=True)
    for group in (folder, folder.parent):
        (group / "cgroup.procs").touch()
    (folder.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (folder / "cgroup.subtree_control").write_text("\n")
    monkeypatch.setattr(memory_group, "_own_group", lambda: folder)
    monkeypatch.setattr(memory_group, "_TRIES", 1)
    monkeypatch.setattr(memory_group, "_refusals", set())
    parent_group.cache_clear()
    yield folder
    parent_group.cache_clear()


def test_groups_are_made_beside_the_own_one_where_that_has_processes(own: Path) -> None:
    assert parent_group() == own.parent


def test_groups_are_made_in_the_own_one_where_it_passes_the_limit_on(own: Path) -> None:
    (own / "cgroup.subtree_control").write_text("memory\n")
    assert parent_group() == own


def test_a_group_has_the_process_and_the_limit(own: Path) -> None:
    assert MemoryGroup.around(4711, 1000) is not None
    [group] = own.parent.glob("mmeval-*")
    written = {file.name: file.read_text() for file in group.iterdir()}
    assert written == {
        "memory.max": "1050",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cgroup.procs": "4711",
    }


def test_a_group_is_made_where_the_kernel_does_not_count_swap(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_write(monkeypatch, "memory.swap.max", errno.EACCES)
    assert MemoryGroup.around(4711, 1000) is not None
    [group] = own.parent.glob("mmeval-*")
    assert (group / "cgroup.procs").read_text() == "4711"
    assert kernel_limits_memory()


@pytest.mark.parametrize(("kills", "has_ended"), [(0, False), (2, True)])
def test_a_process_that_the_kernel_ended_is_noticed(
    kills: int, has_ended: bool, own: Path
) -> None:
    group = MemoryGroup(own)
    assert not group.has_ended_any
    (own / "memory.events").write_text(f"max 9\noom 3\noom_kill {kills}\n")
    assert group.has_ended_any == has_ended


def test_no_group_is_made_where_the_limit_cannot_be_set(own: Path) -> None:
    (own.parent / "cgroup.subtree_control").write_text("cpu\n")
    assert parent_group() is None
    assert MemoryGroup.around(os.getpid(), 1000) is None


def test_a_group_that_the_kernel_refuses_is_reported_once(
    own: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refuse_to_write(monkeypatch, "memory.max", errno.EBUSY)
    groups = [MemoryGroup.around(os.getpid(), 1000) for _ in range(2)]
    assert groups == [None, None]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert list(own.parent.glob("mmeval-*")) == []


def test_the_kernel_does_not_limit_memory_where_it_has_refused_a_group(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parent_group() == own.parent
    refuse_to_write(monkeypatch, "cgroup.procs", errno.EBUSY)
    MemoryGroup.around(os.getpid(), 1000)
    assert not kernel_limits_memory()


@pytest.mark.usefixtures("own")
def test_a_process_that_has_ended_is_not_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse_to_write(monkeypatch, "cgroup.procs", errno.ESRCH)
    assert MemoryGroup.around(4711, 1000) is None
    assert kernel_limits_memory()


def refuse_to_write(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Let the kernel refuse to write to one file of each group."""
    write_text = Path.write_text

    def write_or_refuse(self: Path, text: str) -> int:
        if self.name == name:
            raise OSError(number, os.strerror(number))
        return write_text(self, text)

    monkeypatch.setattr(Path, "write_text", write_or_refuse)


def test_groups_that_a_killed_run_has_left_are_removed(own: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    host = socket.gethostname()
    left = own.parent / f"mmeval-{host}-{ended.pid}-0a"
    at_work = own.parent / f"mmeval-{host}-{os.getpid()}-0a"
    for group in (left, at_work):
        group.mkdir()
    parent_group()
    assert not left.exists()
    assert at_work.exists()
