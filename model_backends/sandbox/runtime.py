"""What process 1 of a sandbox and its outside share."""

from __future__ import annotations

import contextlib
import socket
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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


class ResourceUse(NamedTuple):
    """What the processes of a sandbox use together: bytes of memory, threads, seconds
    of processor time."""

    memory: int
    threads: int
    seconds: float


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
