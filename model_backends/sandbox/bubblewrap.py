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
from collections.abc import Iterable
from pathlib import Path

from mmeval.errors import MissingDataError
from mmeval.model_backends.sandbox.filter import filter_for
from mmeval.model_backends.sandbox.interpreter import Interpreter
from mmeval.model_backends.sandbox.limits import MIB, Limits
from mmeval.model_backends.sandbox.memory_group import MemoryGroup, kernel_limits_memory
from mmeval.model_backends.sandbox.program import Program
from mmeval.model_backends.sandbox.runtime import (
    ENVIRONMENT,
    FRONT,
    TICK,
    WORK,
    Load,
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
        self._setpriv = _program("setpriv", "util-linux") if _is_root() else ""

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(
            note
            for note, applies in (
                (
                    "programs have an empty /proc: a container masks the machine's, "
                    "and lets no other be mounted",
                    not self._proc,
                ),
                (
                    "user namespaces are closed inside by the filter of system calls "
                    "alone",
                    not self._closed,
                ),
                (
                    "there is no filter of system calls for this kind of processor",
                    filter_for() is None,
                ),
                (
                    "memory is measured and not limited by the kernel, as mmeval "
                    "cannot make control groups (cgroup v2)",
                    not kernel_limits_memory(),
                ),
            )
            if applies
        )

    def begin(self, program: Program, limits: Limits) -> Cell:
        with contextlib.ExitStack() as kept, contextlib.ExitStack() as given:
            ours, theirs = socket.socketpair()
            info, info_end = os.pipe()
            kept.push(ours)
            kept.callback(os.close, info)
            given.push(theirs)
            given.callback(os.close, info_end)
            descriptors = [theirs.fileno(), info_end]

            def data(content: bytes) -> str:
                descriptors.append(_in_memory(content))
                given.callback(os.close, descriptors[-1])
                return str(descriptors[-1])

            options = [*_ISOLATED, "--info-fd", str(info_end)]
            # Python may lie below it
            options += _work_folder(
                limits, sum(media.size for _, media in program.inputs)
            )
            options += [
                *self._filesystem(),
                "--ro-bind-data",
                data(FRONT.read_bytes()),
                "/front.py",
            ]
            options += [
                "--ro-bind-data",
                data(program.code.encode("utf-8", "replace")),
                f"{WORK}/program.py",
            ]
            for name, media in program.inputs:
                options += [
                    "--perms",
                    "0444",
                    "--file",
                    data(media.read()),
                    f"{WORK}/input/{name}",
                ]
            options += ["--remount-ro", f"{WORK}/input", "--remount-ro", "/"]
            if (calls := filter_for()) is not None:
                options += ["--seccomp", data(calls)]
            words = [
                *self._outer(),
                self._bwrap,
                "--args",
                data("".join(f"{one}\0" for one in options).encode()),
            ]
            words += [
                "--",
                self._python.command,
                "-I",
                "-S",
                "-B",
                "/front.py",
                str(theirs.fileno()),
            ]
            words += [
                json.dumps(limits.of_process()),
                self._python.command,
                "-B",
                "-u",
            ]
            process = subprocess.Popen(
                [*words, f"{WORK}/program.py"],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
            )
            kept.pop_all()  # the cell closes them
        return Cell(process, ours, info, limits)

    def _outer(self) -> list[str]:
        """What goes before bubblewrap for root, whose processes have no limit of
        number: it gives up its id. The id that it takes is shown the folders of the
        interpreter elsewhere, as root's home is closed to it."""
        if not self._setpriv:
            return []
        words = [
            self._setpriv,
            "--reuid",
            str(NOBODY),
            "--regid",
            str(NOBODY),
            "--clear-groups",
            "--inh-caps=-all",
            "--",
        ]
        folders = map(str, self._python.bound)
        shown = [
            _program("unshare", "util-linux"),
            "--mount",
            "sh",
            "-c",
            _MOUNT_SCRIPT,
            "sh",
            *folders,
            "--",
        ]
        return [*(shown if self._python.bound else ()), *words]

    def _filesystem(self) -> list[str]:
        """The root, in the order in which it is made: the system, Python, devices."""
        words = ["--disable-userns"] if self._closed else []
        for name, value in {
            **ENVIRONMENT,
            "LD_LIBRARY_PATH": self._python.libraries,
        }.items():
            words += ["--setenv", name, value] if value else []
        words += [
            "--ro-bind",
            "/usr",
            "/usr",
            *_system_links(("bin", "sbin", "lib", "lib32", "lib64")),
        ]
        for at, folder in enumerate(self._python.bound):
            words += [
                "--ro-bind",
                f"{_MOUNT_POINT}/{at}" if self._setpriv else str(folder),
                str(folder),
            ]
        for folder in self._python.hidden:
            words += [
                "--size",
                "4096",
                "--tmpfs",
                str(folder),
                "--remount-ro",
                str(folder),
            ]
        words += ["--proc", "/proc"] if self._proc else ["--dir", "/proc"]
        for name in _DEVICES:
            words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        return words


class Cell:
    """A program that is being run. ``line`` becomes readable when its sandbox is set
    up."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        line: socket.socket,
        info: int,
        limits: Limits,
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

    def load(self) -> Load | None:
        """What the program uses; None while its processes are not known yet."""
        if not self._found():
            return None
        load = self._measured()
        return load._replace(memory=max(0, load.memory - self._own_memory))

    def _measured(self) -> Load:
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


def _is_root() -> bool:
    """Whether this is the machine's own root, and not that of a container without
    privileges."""
    inside, outside, count = map(
        int, Path("/proc/self/uid_map").read_text().split()[:3]
    )
    return os.geteuid() == inside == outside == 0 and count > NOBODY


def _system_links(names: Iterable[str]) -> list[str]:
    """The folders beside ``/usr`` that lead into it; on some systems they are folders
    of their own."""
    words: list[str] = []
    for path in (Path("/", name) for name in names):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    return words


def _work_folder(limits: Limits, inputs: int) -> list[str]:
    """All that can be written to, each of a given size."""
    size = str(limits.folder_bytes)
    words = ["--size", size, "--tmpfs", "/dev/shm", "--size", size, "--tmpfs", WORK]
    words += [
        "--dir",
        f"{WORK}/output",
        "--dir",
        f"{WORK}/tmp",
        "--symlink",
        f"{WORK[1:]}/tmp",
        "/tmp",
    ]
    return [*words, "--size", str(inputs + MIB), "--tmpfs", f"{WORK}/input"]


def _in_memory(content: bytes) -> int:
    """A descriptor from which ``content`` can be read."""
    descriptor = os.memfd_create("mmeval-sandbox")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
