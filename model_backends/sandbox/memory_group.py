"""A control group of the kernel (cgroup v2) around the processes of one program.

The kernel counts what the watch cannot see in time, and ends the program beyond its
bytes. Groups can be had where a service manager has delegated a part of the tree to
this user, as for services of ``systemd --user``, and by root.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
import uuid
from functools import lru_cache
from pathlib import Path

log = logging.getLogger(__name__)

SLACK = 1.05
"""The group's limit in those of the program: the watch, which knows the reason, comes
first unless a program is faster than it."""
_PREFIX = "mmeval-"
_TRIES, _PAUSE = 50, 0.01
"""The kernel removes a group some moments after its last process has ended."""
_refusals: set[str] = set()
"""Why groups could not be made. Each reason is reported once, not for each program."""


class MemoryGroup:
    """The group of one program. ``close`` removes it when all processes have ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def around(cls, process: int, most: int) -> MemoryGroup | None:
        """A group with a process that has no children yet, whose memory is limited to
        about ``most`` bytes. None where no group can be had: it is a second fence.
        None as well if the process has ended already."""
        parent = parent_group()
        if parent is None:
            return None
        name = f"{_PREFIX}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        group = cls(parent / name)
        try:
            group._folder.mkdir()
            group._set("memory.max", int(most * SLACK))
            # a kernel that does not count swap has no such file
            with contextlib.suppress(OSError):
                group._set("memory.swap.max", 0)
            group._set("memory.oom.group", 1)
            group._set("cgroup.procs", process)
        except ProcessLookupError:
            group.close()
            return None
        except OSError as error:
            group.close()
            refusal = f"{parent}: no control group can be made ({error.strerror})"
            if refusal not in _refusals:
                _refusals.add(refusal)
                log.warning("%s; the memory of programs is only measured", refusal)
            return None
        return group

    def _set(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))

    @property
    def has_ended_any(self) -> bool:
        """Whether the kernel has ended a process at the limit."""
        with contextlib.suppress(OSError):
            for line in (self._folder / "memory.events").read_text().splitlines():
                if line.startswith("oom_kill ") and line.split()[1] != "0":
                    return True
        return False

    def close(self) -> None:
        for _ in range(_TRIES):
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(_PAUSE)
            else:
                return


def kernel_limits_memory() -> bool:
    """True if programs get control groups. Only the first program shows whether the
    kernel refuses them, such as that of the probe."""
    return parent_group() is not None and not _refusals


@lru_cache(maxsize=1)
def parent_group() -> Path | None:
    """The folder in which this process may make groups with a limit of memory: that of
    its own group, else the one above. None where it may not. Groups that a killed run
    has left there are removed."""
    own = _own_group()
    if own is None:
        return None
    for folder in (own, own.parent):
        try:
            controllers = (folder / "cgroup.subtree_control").read_text().split()
        except OSError:
            continue
        files = (folder, folder / "cgroup.procs")
        if "memory" in controllers and all(os.access(file, os.W_OK) for file in files):
            break
    else:
        return None
    # the groups of runs of this host that were killed; the kernel keeps those with
    # processes
    mine = f"{_PREFIX}{socket.gethostname()}-"
    for path in folder.glob(f"{mine}*"):
        process = path.name.removeprefix(mine).partition("-")[0]
        if process.isdecimal() and not Path("/proc", process).exists():
            with contextlib.suppress(OSError):
                path.rmdir()
    return folder


def _own_group() -> Path | None:
    """The folder of this process's group; None without cgroup v2."""
    with contextlib.suppress(OSError):
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        paths = [line.removeprefix("0::/") for line in groups if line[:4] == "0::/"]
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        tops = [Path(line.split()[4]) for line in mounts if " - cgroup2 " in line]
        if paths and tops:
            return tops[0] / paths[0]
    return None
