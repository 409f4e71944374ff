"""Starts a program that ends with this process, together with all processes that it
started.

The processes also end if this process is killed with ``kill -9``.

A keeper process runs between this process and the program. The keeper runs this file as
a script, with only the standard library. On Linux, an orphaned process below the keeper
becomes a child of the keeper, so the keeper finds and kills it even in another session.
The keeper exits with the exit status of the program. The imports of this file delay the
start of every program, so most are local.

If the keeper itself is killed, the system kills the program, and this process kills the
keeper's process group. Processes that have left the group continue to run.

A keeper below another keeper may be killed before it has removed its scratch folder.
The folder then remains.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
"""Replaces ``typing.TYPE_CHECKING``, because importing ``typing`` is slow."""
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any, NoReturn

_CHECK_SECONDS = 0.5
"""How often the keeper checks whether this process still runs, if the system cannot
report its end."""
_KILL_SECONDS = 5.0
"""How long the keeper tries to kill the processes that the program started.

A process that waits for a broken disk cannot be killed.
"""
_KEEPER_SECONDS = _KILL_SECONDS + 5.0
"""How long this process waits for the keeper."""
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of Linux's prctl."""
_GROUP_SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""Signals that a program may send to its group.

The keeper belongs to this group and ignores the signals.
"""
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 16


class ChildProgram:
    """A running program with pipes to its standard input and output.

    Ctrl-C does not reach it. ``errors`` is the file of its error stream, in which the
    texts of ``hidden`` are replaced by ``***``. ``scratch`` is a folder that is removed
    with the program. Raises OSError if the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        errors: IO[Any] | int,
        cwd: Path | None = None,
        env: Mapping[str, str],
        scratch: Path | None = None,
        hidden: Sequence[str] = (),
    ) -> None:
        import socket
        import subprocess
        import threading

        self._ending = threading.Lock()
        self._scratch = scratch
        self._folder = -1 if scratch is None else os.open(scratch, _OPEN_FOLDER)
        self._line, theirs = socket.socketpair()
        inherited = [theirs.fileno()]
        if self._folder >= 0:
            inherited.append(self._folder)
        words = [
            str(os.getpid()),
            str(theirs.fileno()),
            str(scratch or ""),
            str(self._folder),
            str(int(bool(hidden))),
        ]
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, *words, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=cwd,
                env=env,
                bufsize=0,
                start_new_session=True,
                pass_fds=inherited,
            )
        except BaseException:
            self._release()
            raise
        finally:
            theirs.close()
        assert self._process.stdin is not None and self._process.stdout is not None
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout
        if hidden:
            # not passed on the command line, which all users of the machine can read
            import json

            with contextlib.suppress(OSError):
                self._line.sendall(json.dumps(list(hidden)).encode() + b"\n")

    @property
    def has_ended(self) -> bool:
        """True if the program and all processes that it started have ended."""
        if self._process.returncode is not None:
            return True
        # WNOWAIT: until the process has been waited for, no other process gets its id.
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
        """Close the input, send the signal ``by`` if given, and wait up to ``seconds``.

        Then kill the program and all processes that it started. Returns the exit
        status.
        """
        with contextlib.suppress(OSError):
            self.stdin.close()
        if by is not None:
            self._send(by)
        self._wait_for_end(seconds)
        return self.kill()

    def kill(self) -> int:
        """Kill the program and all processes that it started. Returns the exit
        status."""
        # Another thread must not take the exit status while the group is killed.
        with self._ending:
            self._send(signal.SIGKILL)
            self._wait_for_end(_KEEPER_SECONDS)
            self._kill_group()
            status = self._process.wait()
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        self._release()
        return status

    def _wait_for_end(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.has_ended and (remaining := until - time.monotonic()) > 0:
            time.sleep(min(0.01, remaining))

    def _kill_group(self) -> None:
        """Kill the keeper's process group, in case the keeper was killed or stopped."""
        # Once the keeper has been waited for, its number may belong to another group.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _release(self) -> None:
        """Close the connection and remove the scratch folder.

        The keeper does this too, unless it was killed.
        """
        self._line.close()
        folder, self._folder = self._folder, -1
        if folder >= 0:
            _remove(folder, str(self._scratch))
            os.close(folder)

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._line.send(bytes([number]))


def empty_folder(folder: int) -> None:
    """Remove everything that can be removed from an open folder.

    No link is followed, because another program may replace any entry by a link.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # a folder that is nested too deeply, or an entry that was removed meanwhile
            with contextlib.suppress(OSError, RecursionError):
                if entry.is_dir(follow_symlinks=False):
                    import shutil

                    shutil.rmtree(entry.name, ignore_errors=True, dir_fd=folder)
                else:
                    os.unlink(entry.name, dir_fd=folder)


def _remove(folder: int, path: str) -> None:
    """Remove an open folder.

    If another file or folder has taken its path, that one is kept.
    """
    empty_folder(folder)
    with contextlib.suppress(OSError):
        status = os.stat(path, follow_symlinks=False)  # noqa: PTH116  the keeper imports no pathlib for this
        if os.path.samestat(status, os.fstat(folder)):
            os.rmdir(path)  # noqa: PTH106


# --- the keeper -----------------------------------------------------------------------


def _keep(
    command: list[str],
    *,
    parent: int,
    line: int,
    scratch: str,
    folder: int,
    hides: bool,
) -> NoReturn:
    """Start the program, wait for its end or for a reason to kill it, and exit with its
    status."""
    _prctl(_CHILD_SUBREAPER, 1)
    for inherited in (line, folder):
        if inherited >= 0:
            os.set_inheritable(inherited, False)
    watched = -1
    # pidfd_open needs Linux 5.3
    with contextlib.suppress(AttributeError, OSError):
        watched = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(1)
    hiding_pipe = _HidingPipe(_read_hidden(line)) if hides else None
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)

    keeper = os.getpid()
    handlers = {
        number: signal.signal(number, signal.SIG_IGN) for number in _GROUP_SIGNALS
    }
    program = os.fork()
    if program == 0:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _become(command, keeper, hiding_pipe)
    # readers of the program's pipes wait until every process has closed them
    os.closerange(0, 2)
    if hiding_pipe is not None:
        os.close(hiding_pipe.entry)

    _wait(
        program,
        parent,
        watched=watched,
        woken=woken,
        line=line,
        hiding_pipe=hiding_pipe,
    )
    status = _killed(program)
    if hiding_pipe is not None:
        hiding_pipe.close()
    if folder >= 0:
        _remove(folder, scratch)
    if os.getppid() != parent:
        # The parent has ended: it neither kills the group nor reads the exit status.
        os.killpg(0, signal.SIGKILL)
    _end_like(status)


def _wait(
    program: int,
    parent: int,
    *,
    watched: int,
    woken: int,
    line: int,
    hiding_pipe: _HidingPipe | None,
) -> None:
    """Return when the program or its parent has ended, or when the parent requests the
    end."""
    poll = select.poll()
    errors = -1 if hiding_pipe is None else hiding_pipe.exit
    for source in (woken, line, watched, errors):
        if source >= 0:
            poll.register(source, select.POLLIN)
    while not _has_ended(program):
        ready = dict(poll.poll(None if watched >= 0 else 1000 * _CHECK_SECONDS))
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, _CHUNK)
        if hiding_pipe is not None and errors in ready and not hiding_pipe.pass_on():
            poll.unregister(errors)
        if watched in ready or os.getppid() != parent:
            return
        if line in ready and not _passed_on(line, program):
            return


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process; does nothing outside Linux."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _read_hidden(line: int) -> list[str]:
    import json

    # unbuffered: signals follow these texts
    with open(line, "rb", buffering=0, closefd=False) as lines:
        texts: list[str] = json.loads(lines.readline() or b"[]")
    return texts


def _become(
    command: list[str], keeper: int, hiding_pipe: _HidingPipe | None
) -> NoReturn:
    """Replace this process by the program, in the keeper's group. The program ends with
    the keeper."""
    if not os.path.exists(_children_file()):  # noqa: PTH110
        # Without this list, the keeper finds the program's children only by group.
        os.setpgid(0, 0)
    _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    if hiding_pipe is not None:
        os.dup2(hiding_pipe.entry, 2)
    # Python ignores these signals, and the program would inherit this setting.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def _passed_on(line: int, program: int) -> bool:
    """Send the requested signals to the program.

    Returns False if it should be killed, or if the connection is closed.
    """
    numbers = os.read(line, _CHUNK)
    for number in numbers:
        if number == signal.SIGKILL:
            return False
        # A wrapper such as sudo runs as another user, which may not be signalled.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(program, number)
    return bool(numbers)


def _has_ended(program: int) -> bool:
    """Returns True if the program itself has ended.

    The program is not waited for yet, because its id must still be valid when it is
    killed. Other children that have ended are waited for here.
    """
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return False
        if ended.si_pid == program:
            return True
        os.waitpid(ended.si_pid, 0)


def _killed(program: int) -> int:
    """Kill the program and all processes that it started. Returns its wait status."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(program, signal.SIGKILL)
    status = int(signal.SIGKILL)
    until = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < until:
        # Children of a killed process become children of the keeper; the next round
        # finds them.
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            process, wait_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # nothing is left
            break
        if process == program:
            status = wait_status
        if process == 0:
            time.sleep(0.002)
    return status


def _children() -> list[int]:
    """Returns the children of this process on Linux, or an empty list on other
    systems."""
    try:
        with open(_children_file(), encoding="ascii") as file:  # noqa: PTH123
            listed = file.read()
    except OSError:
        return []
    return [int(number) for number in listed.split()]


def _children_file() -> str:
    process = os.getpid()
    return f"/proc/{process}/task/{process}/children"


def _end_like(status: int) -> NoReturn:
    """Exit as the process with this wait status did: by a signal or with a status."""
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # the handler of SIGKILL cannot be set
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class _HidingPipe:
    """A pipe into this process's error stream that hides texts."""

    def __init__(self, hidden: list[str]) -> None:
        self.exit, self.entry = os.pipe()
        os.set_blocking(self.exit, False)
        # the longest first, as it may contain another
        self._hidden = sorted(map(os.fsencode, hidden), key=len, reverse=True)
        self._pending = b""

    def pass_on(self) -> bool:
        """Write what can be read, except the possible start of a hidden text.

        Returns False at the end of the pipe.
        """
        try:
            data = os.read(self.exit, _CHUNK)
        except BlockingIOError:
            return True
        text = self._pending + data
        for hidden in self._hidden:
            text = text.replace(hidden, b"***")
        # no hidden texts: the other process ended before it sent them
        kept_bytes = max((_overlap(text, hidden) for hidden in self._hidden), default=0)
        self._pending = text[len(text) - kept_bytes :]
        self._write(text[: len(text) - kept_bytes])
        return bool(data)

    def close(self) -> None:
        """Write everything that remains."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.exit, _CHUNK):
                self._pending += data
        for hidden in self._hidden:
            self._pending = self._pending.replace(hidden, b"***")
        self._write(self._pending)

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):  # the disk may be full
            while text:
                text = text[os.write(2, text) :]


def _overlap(text: bytes, hidden: bytes) -> int:
    """Returns the number of bytes at the end of a text that may start a hidden text."""
    longest = min(len(text), len(hidden) - 1)
    for count in range(longest, 0, -1):
        if text.endswith(hidden[:count]):
            return count
    return 0


def _main(
    parent: str, line: str, scratch: str, folder: str, hides: str, *command: str
) -> NoReturn:
    _keep(
        list(command),
        parent=int(parent),
        line=int(line),
        scratch=scratch,
        folder=int(folder),
        hides=hides == "1",
    )


if __name__ == "__main__":
    _main(*sys.argv[1:])
