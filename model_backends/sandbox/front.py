"""Process 1 of a sandbox: sets the limits, hands the folders out, starts the user's
program, and ends everything when that has ended.

It is read as text and run there by the interpreter of the sandbox, with the standard
library alone. The program has the same user, so process 1 closes itself to it: what is
written into the memory of process 1 would be beyond the program's limits.
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
"""The exit status where the run has ended before the program."""
FOLDERS = ("/work", "/work/output", "/dev/shm")


def main(channel: str, limits: str, *command: str) -> None:
    """``channel`` is a descriptor; ``limits`` is JSON, name to value."""
    line = socket.socket(fileno=int(channel))
    close_to_others()
    for name, value in json.loads(limits).items():
        kind = getattr(resource, name)
        most = resource.getrlimit(kind)[1]
        own = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (own, own))
    folders = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in FOLDERS]
    # all is set; what goes wrong from here on is the program's own
    socket.send_fds(line, [b"1"], folders)
    if not line.recv(1):
        os._exit(ENDED)
    child = os.fork()
    if child:
        wait_for(child)
    os.closerange(3, 1 << 20)
    os.chdir("/work")
    os.execv(command[0], command)


def close_to_others() -> None:
    """Keep this process, its memory and its line from the program, which has the same
    id."""
    import ctypes  # it takes time, and is needed for this alone

    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError
    # by Python's own handler the program could end process 1 with a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(child: int) -> None:
    """Wait for the program, and end as it has ended. The run ends process 1 by its own
    end."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            end_as(status)


def end_as(status: int) -> None:
    """End with the exit status of the program, as a shell states that of a signal."""
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(*sys.argv[1:])
