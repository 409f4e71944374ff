"""Runs programs in unprivileged namespaces, created by bubblewrap."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from mmeval.errors import MissingDataError
from mmeval.model_backends.sandbox.filter import filter_for
from mmeval.model_backends.sandbox.interpreter import Interpreter
from mmeval.model_backends.sandbox.limits import MIB, ProgramLimits
from mmeval.model_backends.sandbox.memory_group import MemoryGroup, kernel_limits_memory
from mmeval.model_backends.sandbox.program import SandboxProgram
from mmeval.model_backends.sandbox.runtime import (
    ENVIRONMENT,
    FRONT,
    TICK,
    WORK,
    ResourceUse,
    received_descriptors,
)
from mmeval.model_backends.sandbox.watch import measure_below

UNPRIVILEGED_ID = 65534
MIN_VERSION = (0, 8)
"""The first version that can limit the size of a tmpfs and disable user namespaces."""
_MOUNT_POINT = "/mnt"
"""The folder where root mounts the interpreter's folders for the unprivileged id."""
_MOUNT_SCRIPT = f"""set -e; at=0; mount -t tmpfs -o mode=755 tmpfs {_MOUNT_POINT}
while [ "$1" != -- ]; do
  mkdir {_MOUNT_POINT}/$at; mount --bind "$1" {_MOUNT_POINT}/$at; at=$((at+1)); shift
done
shift; exec env -i "$@\""""
"""Each step starts the next one with ``exec``.

So bubblewrap is the run's direct child, and the kernel ends it together with the run.
"""
_DEVICES = ("null", "full", "random", "urandom")
"""The devices that programs can use.

The device ``zero`` is left out: memory that is shared with it is kept after a process
frees the memory, which then does not belong to any process.
"""
_ISOLATION_OPTIONS = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    # The front program is process 1, since it protects its memory from the user's
    # program. Bubblewrap's own process 1 does not.
    "--as-pid-1",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--uid",
    str(UNPRIVILEGED_ID),
    "--gid",
    str(UNPRIVILEGED_ID),
)


class Bubblewrap:
    """Starts programs with bubblewrap. Some containers do not allow all options.

    With ``proc`` programs have their own ``/proc``; otherwise it is empty. With
    ``closed`` bubblewrap disables user namespaces inside the sandbox; otherwise only
    the filter of system calls does.
    """

    name = "bwrap"

    def __init__(
        self, python: Interpreter, *, proc: bool = True, closed: bool = True
    ) -> None:
        """Raises MissingDataError if bubblewrap is not installed or is too old."""
        self._python, self._proc, self._closed = python, proc, closed
        self._bwrap = _find_program("bwrap", "bubblewrap")
        shown = subprocess.run(
            [self._bwrap, "--version"], capture_output=True, text=True, check=False
        ).stdout
        numbers = re.findall(r"\d+", shown)
        self.version = ".".join(numbers)
        if tuple(map(int, numbers[:2])) < MIN_VERSION:
            raise MissingDataError(
                f"bubblewrap {self.version or 'of an unknown version'} is too old: "
                f"{MIN_VERSION[0]}.{MIN_VERSION[1]} or newer is required",
                how_to_fix="Install it from a newer release of your system",
            )
        self._setpriv = ""
        # Only for the machine's root, not for the root of an unprivileged container.
        user_map = Path("/proc/self/uid_map").read_text().split()
        inside, outside, count = map(int, user_map[:3])
        if os.geteuid() == inside == outside == 0 and count > UNPRIVILEGED_ID:
            self._setpriv = _find_program("setpriv", "util-linux")

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        if not self._proc:
            notes.append(
                "programs have an empty /proc, because this container does not allow "
                "mounting it"
            )
        if not self._closed:
            notes.append(
                "user namespaces inside are disabled only by the filter of system calls"
            )
        if filter_for() is None:
            notes.append("system calls are not filtered on this type of processor")
        if not kernel_limits_memory():
            notes.append(
                "memory is measured but not limited by the kernel, because mmeval "
                "cannot create control groups (cgroup v2)"
            )
        return tuple(notes)

    def begin(self, program: SandboxProgram, limits: ProgramLimits) -> SandboxProcess:
        with contextlib.ExitStack() as owned, contextlib.ExitStack() as temporary:
            our_socket, their_socket = socket.socketpair()
            info, info_write = os.pipe()
            owned.push(our_socket)
            owned.callback(os.close, info)
            temporary.push(their_socket)
            temporary.callback(os.close, info_write)
            descriptors = [their_socket.fileno(), info_write]

            def data(content: bytes) -> str:
                """Returns the number of a new descriptor that contains these bytes."""
                descriptor = os.memfd_create("mmeval-sandbox")
                descriptors.append(descriptor)
                temporary.callback(os.close, descriptor)
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(content)
                os.lseek(descriptor, 0, os.SEEK_SET)
                return str(descriptor)

            options = [*_ISOLATION_OPTIONS, "--info-fd", str(info_write)]
            # Before the system and Python, since their folders may be below it.
            input_bytes = sum(media.size for _, media in program.inputs)
            options += _work_folder(limits, input_bytes)
            options += self._filesystem()
            options += ["--ro-bind-data", data(FRONT.read_bytes()), "/front.py"]
            code = data(program.code.encode("utf-8", "replace"))
            options += ["--ro-bind-data", code, f"{WORK}/program.py"]
            for name, media in program.inputs:
                options += ["--perms", "0444"]
                options += ["--file", data(media.read()), f"{WORK}/input/{name}"]
            options += ["--remount-ro", f"{WORK}/input", "--remount-ro", "/"]
            call_filter = filter_for()
            if call_filter is not None:
                options += ["--seccomp", data(call_filter)]
            python = self._python.command
            ended_by_zero = "".join(f"{option}\0" for option in options)
            words = [*self._outer(), self._bwrap, "--args"]
            words += [data(ended_by_zero.encode()), "--"]
            words += [python, "-I", "-S", "-B", "/front.py", str(their_socket.fileno())]
            words += [json.dumps(limits.of_process())]
            words += [python, "-B", "-u", f"{WORK}/program.py"]
            process = subprocess.Popen(
                words,
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
            )
            owned.pop_all()  # the SandboxProcess closes them
        return SandboxProcess(process, our_socket, info, limits)

    def _outer(self) -> list[str]:
        """Returns the command before bubblewrap if this process is root.

        The command changes to an unprivileged id, because the number of root's
        processes cannot be limited. That id cannot read root's home, so the
        interpreter's folders are mounted elsewhere for it.
        """
        if not self._setpriv:
            return []
        words = []
        if self._python.bound:
            words += [_find_program("unshare", "util-linux"), "--mount"]
            words += ["sh", "-c", _MOUNT_SCRIPT, "sh"]
            words += [*map(str, self._python.bound), "--"]
        words += [
            self._setpriv,
            "--reuid",
            str(UNPRIVILEGED_ID),
            "--regid",
            str(UNPRIVILEGED_ID),
        ]
        return [*words, "--clear-groups", "--inh-caps=-all", "--"]

    def _filesystem(self) -> list[str]:
        """Returns the options that mount the system, then Python, then devices."""
        words = ["--disable-userns"] if self._closed else []
        environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": self._python.libraries}
        for name, value in environment.items():
            if value:
                words += ["--setenv", name, value]
        words += ["--ro-bind", "/usr", "/usr"]
        # These are links into /usr. On some systems they are real folders.
        for path in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")):
            if path.is_symlink():
                words += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                words += ["--ro-bind", str(path), str(path)]
        for number, folder in enumerate(self._python.bound):
            source = f"{_MOUNT_POINT}/{number}" if self._setpriv else str(folder)
            words += ["--ro-bind", source, str(folder)]
        for hidden in map(str, self._python.hidden):
            words += ["--size", "4096", "--tmpfs", hidden, "--remount-ro", hidden]
        words += ["--proc", "/proc"] if self._proc else ["--dir", "/proc"]
        for name in _DEVICES:
            words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        return words


class SandboxProcess:
    """A program that runs in its sandbox.

    ``line`` becomes readable when the sandbox is set up.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        line: socket.socket,
        info: int,
        limits: ProgramLimits,
    ) -> None:
        self.process, self.line = process, line
        self._info, self._limits = info, limits
        self._reported = b""
        self._used: dict[tuple[int, str], int] = {}
        self._handle = self._first = 0
        self._base_memory = 0
        """The memory of process 1 in bytes before the program begins."""
        self._group: MemoryGroup | None = None
        os.set_blocking(info, False)
        line.setblocking(False)

    def receive(self) -> list[int]:
        """Returns the descriptors of the folders.

        Returns an empty result until the sandbox is set up.
        """
        # Process 1 waits until the folders are received, so it can be measured now.
        is_found = self._find_first()
        folders = received_descriptors(self.line)
        if folders and is_found:
            self._base_memory = self._measured().memory
            max_bytes = self._limits.memory_mb * MIB + self._base_memory
            self._group = MemoryGroup.around(self._first, max_bytes)
        if folders:
            with contextlib.suppress(OSError):  # it may have ended
                self.line.send(b"1")
        return folders

    def resource_use(self) -> ResourceUse | None:
        """Returns the program's resource use, or None until process 1 is known."""
        if not self._find_first():
            return None
        use = self._measured()
        return use._replace(memory=max(0, use.memory - self._base_memory))

    def _measured(self) -> ResourceUse:
        max_bytes = self._limits.memory_mb * MIB + self._base_memory
        return measure_below(self._first, max_bytes, self._used)

    def end(self) -> bool:
        """Kills process 1 of the namespace. Returns True once it has ended.

        The kernel ends the other processes first. Bubblewrap does not wait until they
        have ended.
        """
        if not self._handle:
            self.process.kill()
            return True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(1000 * TICK))

    def close(self) -> None:
        self.line.close()
        os.close(self._info)
        if self._handle:
            os.close(self._handle)
        if self._group is not None:
            self._group.close()

    @property
    def reached_memory(self) -> bool:
        """True if the kernel has ended a process at the memory limit."""
        return self._group is not None and self._group.has_ended_any

    def _find_first(self) -> bool:
        """Reads from bubblewrap which process is the namespace's process 1.

        Returns True if it is known.
        """
        if not self._first:
            with contextlib.suppress(BlockingIOError):
                self._reported += os.read(self._info, 4096)
            if match := re.search(rb'"child-pid":\s*(\d+)\D', self._reported):
                first = int(match[1])
                # If it has already ended, neither is set.
                with contextlib.suppress(ProcessLookupError):
                    self._handle = os.pidfd_open(first)
                    self._first = first
        return bool(self._first)


def _find_program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingDataError(
            f"models' programs cannot run: {package} is not installed ({name} is not "
            "on the PATH)",
            how_to_fix=f"Install it, on Debian or Ubuntu with: apt install {package}",
        )
    return path


def _work_folder(limits: ProgramLimits, inputs: int) -> list[str]:
    """Returns the options for all writable folders, with their sizes."""
    size = str(limits.folder_bytes)
    words = ["--size", size, "--tmpfs", "/dev/shm", "--size", size, "--tmpfs", WORK]
    words += ["--dir", f"{WORK}/output", "--dir", f"{WORK}/tmp"]
    words += ["--symlink", f"{WORK[1:]}/tmp", "/tmp"]
    return [*words, "--size", str(inputs + MIB), "--tmpfs", f"{WORK}/input"]
