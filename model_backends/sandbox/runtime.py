"""What a runtime is: it cuts a program off from the machine, and can end all of its
processes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from mmeval.model_backends.sandbox.limits import Limits
from mmeval.model_backends.sandbox.program import Program

FRONT = Path(__file__).with_name("front.py")
WORK = "/work"
TICK = 0.01
"""Seconds between two measurements of what the processes use."""
ENVIRONMENT: Mapping[str, str] = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    # programs share the machine: as many run at a time as it has processors
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
"""All that a program finds in its environment."""


class Load(NamedTuple):
    """What the processes of a sandbox use together: bytes of memory, threads, seconds
    of processor time."""

    memory: int
    threads: int
    seconds: float


class Cell(Protocol):
    """A program that is being run.

    ``line`` becomes readable when the sandbox is set up. From then on ``receive``
    returns descriptors of its folders, before that an empty list. ``load`` is None if
    the runtime itself enforces the limits, or if the processes are not known yet.
    ``end`` kills all processes, and returns True when none is left.
    """

    process: subprocess.Popen[bytes]
    line: socket.socket

    def receive(self) -> list[int]: ...
    def load(self) -> Load | None: ...
    def end(self) -> bool: ...
    def close(self) -> None: ...
    def reached_memory(self, status: int) -> bool: ...


class Runtime(Protocol):
    """``version`` is that of its program, for the record; ``notes`` say in what it is
    weaker here than elsewhere."""

    name: str
    version: str

    @property
    def notes(self) -> tuple[str, ...]: ...
    def begin(self, program: Program, limits: Limits) -> Cell: ...


def received(line: socket.socket) -> list[int]:
    """The descriptors that the front program has sent; none where it ended before."""
    found = array("i")
    with contextlib.suppress(OSError):
        # not recv_fds, which leaves its flags out: processes that are started meanwhile
        # would inherit them
        for _, _, data in line.recvmsg(
            1, socket.CMSG_SPACE(8 * found.itemsize), socket.MSG_CMSG_CLOEXEC
        )[1]:
            found.frombytes(data)
    return found.tolist()
