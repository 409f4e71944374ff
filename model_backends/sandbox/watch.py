"""What the processes of a namespace use together, by what the kernel shows of each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from mmeval.model_backends.sandbox.runtime import Load

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_SOCKET = 320 * 1024
"""What can wait in one socket at most: the kernel's usual buffer, and the message that
no longer fitted."""


def load_below(first: int, most_memory: int, used: dict[tuple[int, str], int]) -> Load:
    """The load of all processes below ``first``, which is process 1 of a namespace:
    orphans come back to it.

    Memory is what is no file's, summed. Processes share it after a fork; where the sum
    is above ``most_memory``, each page counts once. A socket counts as full, for
    nothing shows what waits in it.

    ``used`` is kept by the caller: the processor time of each process, by its number
    and start. The kernel forgets that of a process that ends while none waits for it;
    what it has used since the last measurement is missing.
    """
    memory = threads = ticks = 0
    pids = list(_below(first))
    for pid in pids:
        # it has ended meanwhile
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = map(
                int, (_PROC / f"{pid}/statm").read_text().split()[1:3]
            )
            fields = (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()
            memory += (resident - shared) * _PAGE
            threads += int(fields[17])
            # with those of children that it has waited for
            ticks += sum(map(int, fields[11:15]))
            if own := sum(map(int, fields[11:13])):
                used[pid, fields[19]] = own
    with contextlib.suppress(OSError, IndexError):
        ticks += sum(
            map(
                int,
                (_PROC / f"{first}/stat").read_text().rpartition(")")[2].split()[13:15],
            )
        )
    if memory > most_memory:
        memory = min(memory, sum(map(_proportional, pids)) or memory)
    return Load(
        memory + _sockets(first) * _SOCKET,
        threads,
        max(ticks, sum(used.values())) / _TICKS,
    )


def _below(pid: int) -> Iterator[int]:
    """The processes that descend from one, itself left out."""
    with contextlib.suppress(OSError):
        for task in (_PROC / f"{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in map(int, (task / "children").read_text().split()):
                    yield child
                    yield from _below(child)


def _sockets(pid: int) -> int:
    """How many sockets the network namespace of a process has, those on their way
    between processes included."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((_PROC / f"{pid}/net/sockstat").read_text().split()[2])
    return 0


def _proportional(pid: int) -> int:
    """The bytes of a process that are no file's, those that several share divided among
    them; 0 where unknown."""
    with contextlib.suppress(OSError):
        for line in (_PROC / f"{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1]) * 1024
    return 0
