"""Runs programs in namespaces without privileges, made by bubblewrap."""

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
    received,
)
from mmeval.model_backends.sandbox.watch import load_below

NOBODY = 65534
LEAST = (0, 8)
"""The first version with tmpfs of a given size, and with user namespaces that can be
closed."""
_MOUNT_POINT = "/mnt"
"""Where root mounts the folders of the interpreter for the id that it takes."""
_MOUNT_SCRIPT = f"""set -e; at=0; mount -t tmpfs -o mode=755 tmpfs {_MOUNT_POINT}
while [ "$1" != -- ]; do
  mkdir {_MOUNT_POINT}/$at; mount --bind "$1" {_MOUNT_POINT}/$at; at=$((at+1)); shift
done
shift; exec env -i "$@\""""
"""Each step becomes the next one: the kernel ends bubblewrap with the run, of which it
is the direct child."""
_DEVICES = ("null", "full", "random", "urandom")
"""Without ``zero``: shared memory of it stays when a process gives it back, and then
belongs to none."""
_ISOLATED = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    # the front program, which closes itself to the user's; bubblewrap's own process 1
    # can be written to
    "--as-pid-1",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--uid",
    str(NOBODY),
    "--gid",
    str(NOBODY),
)


class Bubblewrap:
    """``proc``: the program has a ``/proc`` of its own, else an empty one. ``closed``:
    bubblewrap itself closes user namespaces inside, else the filter of system calls
    alone does. Some containers refuse the one or the other."""

    name = "bwrap"

    def __init__(
        self, python: Interpreter, *, proc: bool = True, closed: bool = True
    ) -> None:
        """Raises MissingDataError where bubblewrap is not installed or too old."""
        self._python, self._proc, self._closed = python, proc, closed
        self._bwrap = _program("bwrap", "bubblewrap")
        shown = subprocess.run(
            [self._bwrap, "--version"], capture_output=True, text=True, check=False
        ).stdout
        numbers = re.findall(r"\d+", shown)
        self.version = ".".join(numbers)
        if tuple(map(int, numbers[:2])) < LEAST:
            raise MissingDataError(
                f"bubblewrap {self.version or 'of an unknown version'} is too old: "
                f"{LEAST[0]}.{LEAST[1]} or newer is "
                "needed",
                how_to_fix="Take it from a newer release of your system",
            )
        self._setpriv = ""
        # the machine's own root, and not that of a container without privileges
        user_map = Path("/proc/self/uid_map").read_text().split()
        inside, outside, count = map(int, user_map[:3])
        if os.geteuid() == inside == outside == 0 and count > NOBODY:
            self._setpriv = _program("setpriv", "util-linux")

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        if not self._proc:
            notes.append(
                "programs have an empty /proc: a container masks the machine's, and "
                "lets no other be mounted"
            )
        if not self._closed:
            notes.append(
                "user namespaces are closed inside by the filter of system calls alone"
            )
        if filter_for() is None:
            notes.append(
                "there is no filter of system calls for this kind of processor"
            )
        if not kernel_limits_memory():
            notes.append(
                "memory is measured and not limited by the kernel, as mmeval cannot "
                "make control groups (cgroup v2)"
            )
        return tuple(notes)

    def begin(self, program: SandboxProgram, limits: ProgramLimits) -> SandboxProcess:
        with contextlib.ExitStack() as kept, contextlib.ExitStack() as given:
            ours, theirs = socket.socketpair()
            info, info_end = os.pipe()
            kept.push(ours)
            kept.callback(os.close, info)
            given.push(theirs)
            given.callback(os.close, info_end)
            descriptors = [theirs.fileno(), info_end]

            def data(content: bytes) -> str:
                """A descriptor from which the content can be read."""
                descriptor = os.memfd_create("mmeval-sandbox")
                descriptors.append(descriptor)
                given.callback(os.close, descriptor)
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(content)
                os.lseek(descriptor, 0, os.SEEK_SET)
                return str(descriptor)

            options = [*_ISOLATED, "--info-fd", str(info_end)]
            # Python may lie below it
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
            calls = filter_for()
            if calls is not None:
                options += ["--seccomp", data(calls)]
            python = self._python.command
            ended_by_zero = "".join(f"{option}\0" for option in options)
            words = [*self._outer(), self._bwrap, "--args"]
            words += [data(ended_by_zero.encode()), "--"]
            words += [python, "-I", "-S", "-B", "/front.py", str(theirs.fileno())]
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
            kept.pop_all()  # the cell closes them
        return SandboxProcess(process, ours, info, limits)

    def _outer(self) -> list[str]:
        """What goes before bubblewrap for root, whose processes have no limit of
        number: it gives up its id. The id that it takes is shown the folders of the
        interpreter elsewhere, as root's home is closed to it."""
        if not self._setpriv:
            return []
        words = []
        if self._python.bound:
            words += [_program("unshare", "util-linux"), "--mount"]
            words += ["sh", "-c", _MOUNT_SCRIPT, "sh"]
            words += [*map(str, self._python.bound), "--"]
        words += [self._setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY)]
        return [*words, "--clear-groups", "--inh-caps=-all", "--"]

    def _filesystem(self) -> list[str]:
        """The root, in the order in which it is made: the system, Python, devices."""
        words = ["--disable-userns"] if self._closed else []
        environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": self._python.libraries}
        for name, value in environment.items():
            if value:
                words += ["--setenv", name, value]
        words += ["--ro-bind", "/usr", "/usr"]
        # they lead into it; on some systems they are folders of their own
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
    """A program that is being run. ``line`` becomes readable when its sandbox is set
    up."""

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
        self._own_memory = 0
        """What process 1 has before the program begins."""
        self._group: MemoryGroup | None = None
        os.set_blocking(info, False)
        line.setblocking(False)

    def receive(self) -> list[int]:
        """Descriptors of the folders, once the sandbox is set up."""
        # while the program is yet to begin, its process 1 is there
        is_known = self._found()
        folders = received(self.line)
        if folders and is_known:
            self._own_memory = self._measured().memory
            most = self._limits.memory_mb * MIB + self._own_memory
            self._group = MemoryGroup.around(self._first, most)
        if folders:
            with contextlib.suppress(OSError):  # it was ended meanwhile
                self.line.send(b"1")
        return folders

    def load(self) -> ResourceUse | None:
        """What the program uses; None while its processes are not known yet."""
        if not self._found():
            return None
        load = self._measured()
        return load._replace(memory=max(0, load.memory - self._own_memory))

    def _measured(self) -> ResourceUse:
        most = self._limits.memory_mb * MIB + self._own_memory
        return load_below(self._first, most, self._used)

    def end(self) -> bool:
        """Kill process 1 of the namespace, and return whether it is gone: the kernel
        ends the others before it. Bubblewrap does not wait for that."""
        if not self._handle:
            self.process.kill()
            return True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        gone = select.poll()
        gone.register(self._handle, select.POLLIN)
        return bool(gone.poll(1000 * TICK))

    def close(self) -> None:
        self.line.close()
        os.close(self._info)
        if self._handle:
            os.close(self._handle)
        if self._group is not None:
            self._group.close()

    @property
    def reached_memory(self) -> bool:
        """Whether the kernel has ended a process for its memory."""
        return self._group is not None and self._group.has_ended_any

    def _found(self) -> bool:
        """Whether it is known which process is the first of the namespace, as
        bubblewrap reports."""
        if not self._first:
            with contextlib.suppress(BlockingIOError):
                self._reported += os.read(self._info, 4096)
            if found := re.search(rb'"child-pid":\s*(\d+)\D', self._reported):
                first = int(found[1])
                # It may have ended already: then neither is set.
                with contextlib.suppress(ProcessLookupError):
                    self._handle = os.pidfd_open(first)
                    self._first = first
        return bool(self._first)


def _program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise MissingDataError(
            f"programs of models cannot be run: {package} is not installed (there is "
            f"no {name} on the PATH)",
            how_to_fix=f"Install it: apt install {package}, on Debian or Ubuntu",
        )
    return found


def _work_folder(limits: ProgramLimits, inputs: int) -> list[str]:
    """All that can be written to, each of a given size."""
    size = str(limits.folder_bytes)
    words = ["--size", size, "--tmpfs", "/dev/shm", "--size", size, "--tmpfs", WORK]
    words += ["--dir", f"{WORK}/output", "--dir", f"{WORK}/tmp"]
    words += ["--symlink", f"{WORK[1:]}/tmp", "/tmp"]
    return [*words, "--size", str(inputs + MIB), "--tmpfs", f"{WORK}/input"]
