"""What the processes of a namespace use together, by what the kernel shows of each."""

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
"""How often processes are looked at where some come and go all the time."""
_SOCKET = 320 * 1024
"""What can wait in one socket at most: the kernel's usual buffer, and the message that
no longer fitted."""
_HELD = re.compile(r"^(?:RssAnon|VmSwap|VmPTE|HugetlbPages):\s*(\d+) kB$", re.MULTILINE)
"""The lines of memory that belongs to no file: in use, swapped out, the tables of
pages, large pages of the machine."""
_PROPORTIONAL = re.compile(r"^(?:Pss_Anon|SwapPss):\s*(\d+) kB$", re.MULTILINE)


def load_below(
    first: int,
    most_memory: int,
    used: dict[tuple[int, str], int],
) -> ResourceUse:
    """The load of ``first``, which is process 1 of a namespace, and of all processes
    below it: orphans come back to it. Process 1 itself counts as no thread.

    Memory is the sum of what belongs to no file. Processes share it after a fork; where
    the sum is above ``most_memory``, each page counts once. A socket counts as full,
    for nothing shows what waits in it.

    ``used`` is kept by the caller: the processor time of each process, by its number
    and start. The kernel forgets that of a process that ends while none waits for it;
    what it has used since the last measurement is missing.
    """
    processes = _processes(first)
    for _ in range(_SCANS):
        load = _scanned(processes, most_memory, used)
        before, processes = processes, _processes(first)
        # else one that has ended may have left its memory to one that is new
        if processes == before:
            break
    sockets = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        # those on their way between processes included
        counts = (_PROC / f"{first}/net/sockstat").read_text().split()
        sockets = int(counts[2])
    return load._replace(memory=load.memory + sockets * _SOCKET)


def _scanned(
    processes: Sequence[Path], most_memory: int, used: dict[tuple[int, str], int]
) -> ResourceUse:
    """The load by one look at each process, of which process 1 is the first."""
    memory = threads = ticks = 0
    for process in processes:
        # it has ended meanwhile
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            memory += _bytes(process, "status", _HELD)
            threads += int(fields[17])
            waited_for = sum(map(int, fields[13:15]))
            own = sum(map(int, fields[11:13]))
            if process == processes[0]:
                ticks += waited_for
                continue
            ticks += own + waited_for
            if own:
                used[int(process.name), fields[19]] = own
    if memory > most_memory:
        # bytes that several processes share are divided among them
        shares = [_bytes(each, "smaps_rollup", _PROPORTIONAL) for each in processes]
        memory = min(memory, sum(shares) or memory)
    seconds = max(ticks, sum(used.values())) / _TICKS
    return ResourceUse(memory, max(0, threads - 1), seconds)


def _processes(first: int) -> list[Path]:
    """The folders of a namespace's processes, that of process 1 at the beginning.

    Its own ``/proc`` lists them by their numbers, also one that has just lost its
    parent. Where it has none, they are searched by their parents.
    """
    own = _PROC / f"{first}/root/proc"
    with contextlib.suppress(OSError):
        # that of this process until the sandbox is made
        is_own = own.stat().st_dev != _PROC.stat().st_dev
        names = os.listdir(own) if is_own else []  # noqa: PTH208
        found = sorted(int(name) for name in names if name.isdecimal())
        if found[:1] == [1]:
            return [own / str(number) for number in found]
    return [_PROC / str(pid) for pid in (first, *_below(first))]


def _below(pid: int) -> Iterator[int]:
    """The processes that descend from one, itself left out."""
    for task in _threads(_PROC / str(pid)):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


def _threads(process: Path) -> list[Path]:
    """The folders of a process's threads."""
    folder = process / "task"
    with contextlib.suppress(OSError):
        # not iterdir, which stays open where the process ends meanwhile
        return [folder / name for name in os.listdir(folder)]  # noqa: PTH208
    return []


def _bytes(
    process: Path,
    name: str,
    wanted: re.Pattern[str],
) -> int:
    """The bytes of a process that belong to no file, by its file ``name``; 0 if it has
    ended. A first thread that has ended shows none, while the others go on with the
    same memory."""
    held = _kilobytes(process / name, wanted)
    if held:
        return held
    for task in _threads(process):
        held = _kilobytes(task / name, wanted)
        if held:
            return held
    return 0


def _kilobytes(file: Path, wanted: re.Pattern[str]) -> int:
    """The sum of a file's lines, in bytes; 0 where it cannot be read."""
    with contextlib.suppress(OSError):
        return 1024 * sum(map(int, wanted.findall(file.read_text())))
    return 0
