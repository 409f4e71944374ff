"""Constants and records that process 1 of a sandbox and the code outside share."""

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
"""Seconds between two measurements of resource use."""
ENVIRONMENT: Mapping[str, str] = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    # One program runs per processor, so libraries must not start more threads.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
"""The complete environment of a program."""


class ResourceUse(NamedTuple):
    """The total resource use of all processes in a sandbox.

    ``memory`` is in bytes, and ``seconds`` is processor time.
    """

    memory: int
    threads: int
    seconds: float


def received_descriptors(line: socket.socket) -> list[int]:
    """Returns the descriptors that the front program has sent.

    The list is empty if the program ended before sending them.
    """
    descriptors = array("i")
    with contextlib.suppress(OSError):
        # socket.recv_fds cannot be used: it ignores its flags, so processes that start
        # at the same time would inherit the descriptors.
        for _, _, data in line.recvmsg(
            1, socket.CMSG_SPACE(8 * descriptors.itemsize), socket.MSG_CMSG_CLOEXEC
        )[1]:
            descriptors.frombytes(data)
    return descriptors.tolist()
