"""A control group of the kernel (cgroup v2) around the processes of one program.

The kernel ends a program that exceeds its memory faster than mmeval can measure. Groups
are available to root, and to a user if a service manager has delegated a part of the
tree to this user, as for services of ``systemd --user``.
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
"""The group's limit relative to the program's limit.

The group's limit is higher, so that mmeval's measurement, which can report the reason,
usually ends the program first.
"""
_PREFIX = "mmeval-"
_TRIES, _PAUSE = 50, 0.01
"""Number of attempts to remove a group, and seconds between two attempts.

A group can only be removed some moments after its last process has ended.
"""
_refusals: set[str] = set()
"""Reasons why groups could not be created. Each reason is logged once, not for each
program."""


class MemoryGroup:
    """The control group of one program.

    ``close`` removes it when all processes have ended.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def around(cls, process: int, max_bytes: int) -> MemoryGroup | None:
        """Creates a group with ``process``, which must not have children yet.

        Its memory is limited to about ``max_bytes``. Returns None if groups are not
        available, or if the process has already ended. mmeval measures the memory with
        or without a group.
        """
        parent = parent_group()
        if parent is None:
            return None
        name = f"{_PREFIX}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        group = cls(parent / name)
        try:
            group._folder.mkdir()
            group._set("memory.max", int(max_bytes * SLACK))
            # A kernel without swap accounting has no such file.
            with contextlib.suppress(OSError):
                group._set("memory.swap.max", 0)
            # At the limit the kernel ends all processes of the group, not only one.
            group._set("memory.oom.group", 1)
            group._set("cgroup.procs", process)
        except ProcessLookupError:
            group.close()
            return None
        except OSError as error:
            group.close()
            refusal = f"{parent}: cannot create a control group ({error.strerror})"
            if refusal not in _refusals:
                _refusals.add(refusal)
                log.warning("%s; mmeval only measures the memory of programs", refusal)
            return None
        return group

    def _set(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))

    @property
    def has_ended_any(self) -> bool:
        """True if the kernel has ended a process at the limit."""
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
    """Returns True if programs get control groups.

    If the kernel refuses them, this is only known after the first program (the probe).
    """
    return parent_group() is not None and not _refusals


@lru_cache(maxsize=1)
def parent_group() -> Path | None:
    """Returns the folder in which this process may create groups with a memory limit.

    The folder is that of this process's group or of the parent group. Returns None if
    neither can be used. Groups of killed runs are removed.
    """
    own_group = _own_group()
    if own_group is None:
        return None
    for folder in (own_group, own_group.parent):
        try:
            controllers = (folder / "cgroup.subtree_control").read_text().split()
        except OSError:
            continue
        files = (folder, folder / "cgroup.procs")
        if "memory" in controllers and all(os.access(file, os.W_OK) for file in files):
            break
    else:
        return None
    # Remove groups of killed runs on this host. The kernel keeps groups with processes.
    prefix = f"{_PREFIX}{socket.gethostname()}-"
    for path in folder.glob(f"{prefix}*"):
        process = path.name.removeprefix(prefix).partition("-")[0]
        if process.isdecimal() and not Path("/proc", process).exists():
            with contextlib.suppress(OSError):
                path.rmdir()
    return folder


def _own_group() -> Path | None:
    """Returns the folder of this process's group, or None without cgroup v2."""
    with contextlib.suppress(OSError):
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        paths = [line.removeprefix("0::/") for line in groups if line[:4] == "0::/"]
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        tops = [Path(line.split()[4]) for line in mounts if " - cgroup2 " in line]
        if paths and tops:
            return tops[0] / paths[0]
    return None
