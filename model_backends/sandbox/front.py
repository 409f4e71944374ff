"""The first program inside the sandbox: sets its limits, hands its folders out, and
becomes the user's program.

It is read as text and run there by the interpreter of the sandbox, with the standard
library alone. In a container it is also process 1, and ends everything when the run is
gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import sys
import time

_SET_DUMPABLE = 4
FOLDERS = ("/work", "/work/output", "/dev/shm")


def main(channel: str, limits: str, *command: str) -> None:
    """``channel`` is a descriptor, or the path of a socket in a container; ``limits``
    is JSON, name to value."""
    in_container = channel.startswith("/")
    if in_container:
        line = socket.socket(socket.AF_UNIX)
        line.connect(channel)
        for folder in ("/work/output", "/work/tmp"):
            os.mkdir(folder)  # noqa: PTH102  pathlib takes longer to import than all of this
        close_to_others()
    else:
        line = socket.socket(fileno=int(channel))
    for name, value in json.loads(limits).items():
        kind = getattr(resource, name)
        most = resource.getrlimit(kind)[1]
        own = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (own, own))
    folders = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in FOLDERS]
    # all is set; what goes wrong from here on is the program's own
    socket.send_fds(line, [b"1"], folders)
    child = os.fork() if in_container else 0
    if child:
        guard(child, line)
    os.closerange(3, 1 << 20)
    os.chdir("/work")
    os.execv(command[0], command)


def close_to_others() -> None:
    """Keep this process, its memory and its line from the program, which has the same
    id."""
    import ctypes  # it takes time, and with bubblewrap another program is process 1

    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError


def guard(child: int, line: socket.socket) -> None:
    """Wait for the program, or for the end of the run that has started it, and end the
    container."""
    line.settimeout(0.05)
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        with contextlib.suppress(TimeoutError):
            if not line.recv(1):
                os._exit(137)
            time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
