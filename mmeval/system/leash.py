"""Starts a program that ends, with all that it has started, when this process ends,
also by ``kill -9``.

The program leads a process group of its own. Beside it in the group a watcher waits for
the end of this process, which runs this file as a script: by the standard library
alone, and before it becomes the program.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

_LOOK_SECONDS = 0.5
"""How often the watcher looks for the process where the system cannot tell it of its
end."""


class Leash:
    """A program at work, with pipes to its standard input and output; Ctrl-C does not
    reach it.

    ``errors`` is a file for its error stream, ``scratch`` a folder that is removed with
    it, if it is there then. Raises OSError where it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        errors: IO[Any] | int,
        cwd: Path | None = None,
        env: Mapping[str, str],
        scratch: Path | None = None,
    ) -> None:
        import subprocess

        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                __file__,
                str(os.getpid()),
                str(scratch or ""),
                *command,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            env=env,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout
        self._scratch = scratch

    @property
    def has_ended(self) -> bool:
        """Whether the program itself has ended; what it has started may go on."""
        if self._process.returncode is not None:
            return True
        # Its id is not given to another process while it is not waited for.
        try:
            return (
                os.waitid(
                    os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
                )
                is not None
            )
        except ChildProcessError:  # another thread has just waited for it
            return True

    def end(self, seconds: float, by: signal.Signals | None = None) -> int:
        """Close its input, send it a signal where one is given, and give it so long to
        end; then end all of it. Returns the exit status."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        if by is not None and not self.has_ended:
            os.kill(self._process.pid, by)
        until = time.monotonic() + seconds
        while not self.has_ended and (left := until - time.monotonic()) > 0:
            time.sleep(min(0.01, left))
        return self.kill()

    def kill(self) -> int:
        """End the program and all in its group, at once. Returns the exit status."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        return status


def _become(parent: int, scratch: str, command: list[str]) -> None:
    """Leave a watcher behind and become the program."""
    watched = -1
    # another system, or an old kernel
    with contextlib.suppress(AttributeError, OSError):
        watched = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(1)
    middle = os.fork()
    if middle == 0:
        if os.fork() == 0:
            _watch(parent, watched, scratch)
        os._exit(0)
    os.waitpid(middle, 0)  # so that the program has no child that it does not know
    if watched >= 0:
        os.close(watched)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def _watch(parent: int, watched: int, scratch: str) -> None:
    """End the group when the parent has ended, and remove the folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, max(0, watched))
    # the program's pipes: who reads them waits for the end of all that hold them
    os.closerange(watched + 1, 256)
    if watched >= 0:
        select.select([watched], [], [])
    else:
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(parent, 0)
                time.sleep(_LOOK_SECONDS)
    group = os.getpgrp()
    os.setpgid(0, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
