"""Starts a program that ends, with all that it has started, when this process ends,
also by ``kill -9``.

Between this process and the program stands a keeper, which runs this file as a script,
by the standard library alone. On Linux every process below the keeper that loses its
parent becomes a child of the keeper, so that the keeper finds and ends it also in a
session of its own. The keeper ends as the program has ended. The time of its imports is
added to the start of every program, so most of them stand where they are needed.

If the keeper itself is killed, the system ends the program, and this process ends what
is in the keeper's group. What has left that group then goes on.

A keeper below another keeper may be killed by that one before it has removed its
scratch folder. The folder then stays.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
"""In place of the one of ``typing``, whose import takes longer than the rest."""
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any, NoReturn

_LOOK_SECONDS = 0.5
"""How often the keeper looks for this process where the system cannot report its
end."""
_KILL_SECONDS = 5.0
"""How long the keeper tries to end what the program has started: a process that waits
for a broken disk cannot be ended."""
_KEEPER_SECONDS = _KILL_SECONDS + 5.0
"""How long the keeper itself is waited for."""
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
"""Signals that a program may send to its group. The keeper is in it and ignores
them."""
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 16


class Leash:
    """A program at work, with pipes to its standard input and output; Ctrl-C does not
    reach it.

    ``errors`` is a file for its error stream, in which each text of ``hidden`` is
    replaced by ``***``. ``scratch`` is a folder that is removed with it. Raises OSError
    where the program cannot be started.
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
            # not by its command line, which all users of the machine can read
            import json

            with contextlib.suppress(OSError):
                self._line.sendall(json.dumps(list(hidden)).encode() + b"\n")

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended, and with it what it has started."""
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
        if by is not None:
            self._send(by)
        self._wait_for_end(seconds)
        return self.kill()

    def kill(self) -> int:
        """End the program and all that it has started, at once. Returns the exit
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
        while not self.has_ended and (left := until - time.monotonic()) > 0:
            time.sleep(min(0.01, left))

    def _kill_group(self) -> None:
        """Kill what is in the keeper's group: something may have killed or stopped the
        keeper."""
        # The number of the group may name another one as soon as the keeper is waited
        # for.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _release(self) -> None:
        """Let go of the line and the folder, which is removed here as well: something
        may have killed the keeper."""
        self._line.close()
        folder, self._folder = self._folder, -1
        if folder >= 0:
            _remove(folder, str(self._scratch))
            os.close(folder)

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._line.send(bytes([number]))


def empty_folder(folder: int) -> None:
    """Remove everything in an open folder that can be removed. No link is followed:
    another program may put one in the place of anything."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # a link, or a folder that is nested too deep or has just gone
            with contextlib.suppress(OSError, RecursionError):
                if entry.is_dir(follow_symlinks=False):
                    import shutil

                    shutil.rmtree(entry.name, ignore_errors=True, dir_fd=folder)
                else:
                    os.unlink(entry.name, dir_fd=folder)


def _remove(folder: int, path: str) -> None:
    """Remove an open folder; whatever else may have its path by now stays."""
    empty_folder(folder)
    with contextlib.suppress(OSError):
        there = os.stat(path, follow_symlinks=False)  # noqa: PTH116  the keeper imports no pathlib for this
        if os.path.samestat(there, os.fstat(folder)):
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
    """Start the program, wait for its end, or for a reason to end it, and end like
    it."""
    _prctl(_CHILD_SUBREAPER, 1)
    for inherited in (line, folder):
        if inherited >= 0:
            os.set_inheritable(inherited, False)
    watched = -1
    # another system, or an old kernel
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
    # who reads the program's pipes waits for the end of all that hold them
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
        # Nobody else kills what is left of the group, and nobody reads the exit status.
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
    """Return when the program has ended, or its parent, or when that asks for it."""
    poll = select.poll()
    errors = -1 if hiding_pipe is None else hiding_pipe.exit
    for source in (woken, line, watched, errors):
        if source >= 0:
            poll.register(source, select.POLLIN)
    while not _has_ended(program):
        ready = dict(poll.poll(None if watched >= 0 else 1000 * _LOOK_SECONDS))
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
    """Set an attribute of this process, where the system is Linux."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _read_hidden(line: int) -> list[str]:
    import json

    # without a buffer: signals come after these texts
    with open(line, "rb", buffering=0, closefd=False) as lines:
        texts: list[str] = json.loads(lines.readline() or b"[]")
    return texts


def _become(
    command: list[str], keeper: int, hiding_pipe: _HidingPipe | None
) -> NoReturn:
    """Become the program, in the keeper's group. It ends with the keeper."""
    if not os.path.exists(_children_file()):  # noqa: PTH110
        # Only by the number of a group can the keeper find what the program starts.
        os.setpgid(0, 0)
    _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    if hiding_pipe is not None:
        os.dup2(hiding_pipe.entry, 2)
    # Python ignores these signals, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def _passed_on(line: int, program: int) -> bool:
    """Send the program the signals that are asked for. False where it should end at
    once, or nobody holds it any more."""
    numbers = os.read(line, _CHUNK)
    for number in numbers:
        if number == signal.SIGKILL:
            return False
        # A wrapper such as sudo runs as another user, which may not be signalled.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(program, number)
    return bool(numbers)


def _has_ended(program: int) -> bool:
    """Whether the program itself has ended. It is not waited for yet: its number must
    still name it when it is killed. Other children that have ended are reaped here."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return False
        if ended.si_pid == program:
            return True
        os.waitpid(ended.si_pid, 0)


def _killed(program: int) -> int:
    """Kill the program and all that it has started. Returns its wait status."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(program, signal.SIGKILL)
    status = int(signal.SIGKILL)
    until = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < until:
        # The children of one that is killed become children of the keeper: the next
        # round finds them.
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            ended, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # nothing is left
            break
        if ended == program:
            status = how
        if ended == 0:
            time.sleep(0.002)
    return status


def _children() -> list[int]:
    """The children of this process, as Linux lists them; empty elsewhere."""
    try:
        with open(_children_file(), encoding="ascii") as file:  # noqa: PTH123
            listed = file.read()
    except OSError:
        return []
    return [int(number) for number in listed.split()]


def _children_file() -> str:
    own = os.getpid()
    return f"/proc/{own}/task/{own}/children"


def _end_like(status: int) -> NoReturn:
    """End with a wait status: by the same signal, or with the same exit status."""
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL cannot be set
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class _HidingPipe:
    """A pipe into this process's error stream in which texts are hidden."""

    def __init__(self, hidden: list[str]) -> None:
        self.exit, self.entry = os.pipe()
        os.set_blocking(self.exit, False)
        # the longest first: it may hold another
        self._hidden = sorted(map(os.fsencode, hidden), key=len, reverse=True)
        self._held = b""

    def pass_on(self) -> bool:
        """Write what there is, without the beginning of a text at its end. False at the
        end of the pipe."""
        try:
            data = os.read(self.exit, _CHUNK)
        except BlockingIOError:
            return True
        text = self._held + data
        for hidden in self._hidden:
            text = text.replace(hidden, b"***")
        # There is no hidden text if the other process has ended before it sent them.
        begun = max((_begun(text, hidden) for hidden in self._hidden), default=0)
        self._held = text[len(text) - begun :]
        self._write(text[: len(text) - begun])
        return bool(data)

    def close(self) -> None:
        """Write all that is left."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.exit, _CHUNK):
                self._held += data
        for hidden in self._hidden:
            self._held = self._held.replace(hidden, b"***")
        self._write(self._held)

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):  # the disk may be full
            while text:
                text = text[os.write(2, text) :]


def _begun(text: bytes, hidden: bytes) -> int:
    """How many bytes at the end of a text may begin a hidden one."""
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
