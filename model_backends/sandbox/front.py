"""Process 1 of a sandbox: sets the limits, starts the program, and ends with it.

Before the program starts, process 1 sends the folders' descriptors to the run. The
sandbox's interpreter runs this file with only the standard library. The program has the
same user id, so process 1 protects its memory: code written there would not be bound by
the program's limits.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys

_SET_DUMPABLE = 4
ENDED = 137
"""The exit status if mmeval's run ends before the program."""
FOLDERS = ("/work", "/work/output", "/dev/shm")


def main(channel: str, limits: str, *command: str) -> None:
    """Runs ``command``.

    ``channel`` is the number of a socket's descriptor. ``limits`` is JSON that maps
    names to values.
    """
    line = socket.socket(fileno=int(channel))
    close_to_others()
    for name, value in json.loads(limits).items():
        kind = getattr(resource, name)
        hard_limit = resource.getrlimit(kind)[1]
        limit = (
            value if hard_limit == resource.RLIM_INFINITY else min(value, hard_limit)
        )
        resource.setrlimit(kind, (limit, limit))
    folders = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in FOLDERS]
    # The setup is complete. Later errors come from the program.
    socket.send_fds(line, [b"1"], folders)
    if not line.recv(1):
        os._exit(ENDED)
    child = os.fork()
    if child:
        wait_for(child)
    # The program must not inherit the socket or the folders' descriptors.
    os.closerange(3, 1 << 20)
    os.chdir("/work")
    os.execv(command[0], command)


def close_to_others() -> None:
    """Protects this process, its memory and its socket from the program.

    The program has the same user id.
    """
    import ctypes  # slow to import, and needed only here

    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError
    # With Python's handler, the program could end process 1 with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(child: int) -> None:
    """Waits for the program, and ends with its status."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            end_as(status)


def end_as(status: int) -> None:
    """Ends with the program's exit status.

    The status is 128 + the signal's number if a signal ended the program, as in a
    shell.
    """
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(*sys.argv[1:])
