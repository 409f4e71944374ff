"""Uses ``/proc`` to measure the total resource use of a namespace's processes."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval.model_backends.sandbox.runtime import ResourceUse

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_SCANS = 3
"""Maximum number of scans if processes keep starting and ending."""
_SOCKET = 320 * 1024
"""Maximum number of bytes in one socket.

This is the size of the kernel's default buffer, and of one more message.
"""
_HELD = re.compile(r"^(?:RssAnon|VmSwap|VmPTE|HugetlbPages):\s*(\d+) kB$", re.MULTILINE)
"""Lines about memory that does not belong to a file.

Such memory is in use, swapped out, in page tables or in huge pages.
"""
_PROPORTIONAL = re.compile(r"^(?:Pss_Anon|SwapPss):\s*(\d+) kB$", re.MULTILINE)


def measure_below(
    first: int,
    max_memory: int,
    used: dict[tuple[int, str], int],
) -> ResourceUse:
    """Measures the resource use of process 1 of a namespace and all processes below it.

    ``first`` is process 1. Orphans become its children. Process 1 itself does not count
    as a thread.

    The memory is all memory that does not belong to a file. After a fork, processes
    share pages, so above ``max_memory`` each page is counted once. Each socket is
    treated as full, because its content cannot be measured.

    ``used`` belongs to the caller. It maps the number and start time of each process to
    its processor time. The kernel discards the time of a process without a waiting
    parent, so the time since its last measurement is missing.
    """
    processes = _processes(first)
    for _ in range(_SCANS):
        use = _scan(processes, max_memory, used)
        previous, processes = processes, _processes(first)
        # Otherwise memory may have moved from an ended process to a new one.
        if processes == previous:
            break
    sockets = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        # This includes sockets on their way between processes.
        counts = (_PROC / f"{first}/net/sockstat").read_text().split()
        sockets = int(counts[2])
    return use._replace(memory=use.memory + sockets * _SOCKET)


def _scan(
    processes: Sequence[Path], max_memory: int, used: dict[tuple[int, str], int]
) -> ResourceUse:
    """Scans all processes once to measure their use. Process 1 must be the first."""
    memory = threads = ticks = 0
    for process in processes:
        # The process may have ended.
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            memory += _bytes(process, "status", _HELD)
            threads += int(fields[17])
            child_ticks = sum(map(int, fields[13:15]))
            own_ticks = sum(map(int, fields[11:13]))
            if process == processes[0]:
                ticks += child_ticks
                continue
            ticks += own_ticks + child_ticks
            if own_ticks:
                used[int(process.name), fields[19]] = own_ticks
    if memory > max_memory:
        # Proportional sizes divide shared bytes among the processes.
        shares = []
        for process in processes:
            shares.append(_bytes(process, "smaps_rollup", _PROPORTIONAL))
        memory = min(memory, sum(shares) or memory)
    seconds = max(ticks, sum(used.values())) / _TICKS
    return ResourceUse(memory, max(0, threads - 1), seconds)


def _processes(first: int) -> list[Path]:
    """Returns the folders of a namespace's processes, process 1 first.

    The namespace's own ``/proc`` lists them by number, including a process that has
    just lost its parent. Without this ``/proc``, they are found by following the
    children.
    """
    namespace_proc = _PROC / f"{first}/root/proc"
    with contextlib.suppress(OSError):
        # Until the sandbox is set up, this is the machine's /proc.
        is_separate = namespace_proc.stat().st_dev != _PROC.stat().st_dev
        names = os.listdir(namespace_proc) if is_separate else []  # noqa: PTH208
        pids = sorted(int(name) for name in names if name.isdecimal())
        if pids[:1] == [1]:
            return [namespace_proc / str(number) for number in pids]
    return [_PROC / str(pid) for pid in (first, *_below(first))]


def _below(pid: int) -> Iterator[int]:
    """Yields the descendants of a process."""
    for task in _threads(_PROC / str(pid)):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


def _threads(process: Path) -> list[Path]:
    """Returns the folders of a process's threads."""
    folder = process / "task"
    with contextlib.suppress(OSError):
        # iterdir cannot be used: it stays open if the process ends.
        return [folder / name for name in os.listdir(folder)]  # noqa: PTH208
    return []


def _bytes(
    process: Path,
    name: str,
    pattern: re.Pattern[str],
) -> int:
    """Returns the bytes that a process's file ``name`` states, or 0 after its end.

    If the first thread has ended, the file is empty. Then the files of the other
    threads are read.
    """
    size = _sum_of_lines(process / name, pattern)
    if size:
        return size
    for task in _threads(process):
        size = _sum_of_lines(task / name, pattern)
        if size:
            return size
    return 0


def _sum_of_lines(file: Path, pattern: re.Pattern[str]) -> int:
    """Returns the sum of a file's matching lines in bytes, or 0 if it is unreadable."""
    with contextlib.suppress(OSError):
        return 1024 * sum(map(int, pattern.findall(file.read_text())))
    return 0
