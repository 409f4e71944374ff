"""Runs one program to its end within its bounds, and reads what comes of it."""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from mmeval.errors import MmevalError
from mmeval.model_backends.sandbox.bubblewrap import Bubblewrap, SandboxProcess
from mmeval.model_backends.sandbox.limits import INODES, MIB, ProgramLimits, Reason
from mmeval.model_backends.sandbox.outputs import Outputs, outputs_of
from mmeval.model_backends.sandbox.program import SandboxProgram
from mmeval.model_backends.sandbox.runtime import TICK

START_SECONDS = 60.0
"""How long a sandbox may take until its program begins, on a machine that is busy."""
_CHUNK = 1 << 16
_LEAST_TICK = TICK / 10
_FASTEST = 8 * 2**30
"""Bytes a second that a program can fill by one processor. The nearer it is to its
limit, the sooner it is measured again."""


class SandboxError(MmevalError):
    """The sandbox itself has failed, and the program did not run."""


@dataclass(frozen=True)
class ProgramResult:
    """``status`` is the exit status, above 128 for the signal that ended it;
    ``reached`` the bounds that were hit. ``ended``: the program was ended from here, at
    a bound, so that its status says nothing."""

    printed: str
    errors: str
    status: int
    ended: bool
    reached: tuple[Reason, ...]
    outputs: Outputs
    seconds: float


def execute(
    bubblewrap: Bubblewrap,
    program: SandboxProgram,
    limits: ProgramLimits,
    stop: threading.Event,
) -> ProgramResult:
    """Run a program. Raises SandboxError where it could not begin, or was stopped."""
    began = time.monotonic()
    cell = bubblewrap.begin(program, limits)
    running = _RunningProgram(cell, limits, began)
    try:
        running.follow(stop)
        if stop.is_set():
            raise SandboxError("the run was stopped before the program had ended")
        if not running.folders:
            why = f"it says nothing, or needs more than {START_SECONDS:.0f} seconds"
            lines = running.errors.decode("utf-8", "replace").strip().splitlines()
            if lines:
                why = lines[-1].strip()[:500]
            raise SandboxError(f"{bubblewrap.name} could not begin: {why}")
        status = cell.process.returncode
        outputs = outputs_of(running.folders[1], limits)
        if cell.reached_memory and not running.reached:
            running.reached.append("memory")
        is_full = outputs.too_many or running.folders_are_full()
        if is_full and "files" not in running.reached:
            running.reached.append("files")
        return ProgramResult(
            running.printed.decode("utf-8", "replace"),
            running.errors.decode("utf-8", "replace"),
            status if status >= 0 else 128 - status,
            running.ended,
            tuple(running.reached),
            outputs,
            time.monotonic() - began,
        )
    finally:
        running.close()


@dataclass
class _RunningProgram:
    """A cell while it is followed."""

    cell: SandboxProcess
    limits: ProgramLimits
    began: float
    printed: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    folders: list[int] = field(default_factory=list)
    """Descriptors of the work folder, ``output/`` and ``/dev/shm``; they outlive the
    sandbox."""
    reached: list[Reason] = field(default_factory=list)
    ended: bool = False
    _seconds: float = 0.0
    _pause: float = TICK
    """Seconds until the next measurement at the latest."""

    def follow(self, stop: threading.Event) -> None:
        """Read what comes, and end the program when it reaches a bound, until all of
        its processes are gone."""
        process = self.cell.process
        assert process.stdout is not None and process.stderr is not None
        handle = os.pidfd_open(process.pid)
        with contextlib.closing(selectors.DefaultSelector()) as selector:
            for source in (process.stdout, process.stderr):
                os.set_blocking(source.fileno(), False)
                selector.register(source, selectors.EVENT_READ)
            for other in (self.cell.line, handle):
                selector.register(other, selectors.EVENT_READ)
            try:
                while process.poll() is None:
                    for key, _ in selector.select(self._pause):
                        if key.fileobj is not handle and not self._take(key.fileobj):
                            selector.unregister(key.fileobj)
                    if not self.reached and (reason := self._bound_reached()):
                        self.reached.append(reason)
                    if self.reached or stop.is_set():
                        self.ended = True
                        self.cell.end()
                self._end()
                for left in (process.stdout, process.stderr, self.cell.line):
                    while self._take(left):
                        pass
            finally:
                os.close(handle)

    def _take(self, source: Any) -> bool:
        """Read once from a pipe or the line; False at its end, or where there is
        nothing."""
        if source is self.cell.line:
            if self.folders:
                return False
            self.folders = self.cell.receive()
            if self.folders:
                self.began = time.monotonic()
            return bool(self.folders)
        data = None
        with contextlib.suppress(BlockingIOError):
            data = os.read(source.fileno(), _CHUNK)
        kept = self.printed if source is self.cell.process.stdout else self.errors
        room = self.limits.output_kb * 1024 - len(self.printed) - len(self.errors)
        if data and len(data) > room:
            if "output" not in self.reached:
                self.reached.append("output")
            data = data[: max(room, 0)]
        kept += data or b""
        return bool(data)

    def _bound_reached(self) -> Reason | None:
        seconds = self.limits.seconds if self.folders else START_SECONDS
        if time.monotonic() - self.began > seconds:
            return "time"
        if self.folders_are_full():
            return "files"
        load = self.cell.load()
        if load is None:
            return None
        self._seconds = max(self._seconds, load.seconds)
        room = self.limits.memory_mb * MIB - load.memory
        for folder in self._folders_hold():
            room -= (folder.f_blocks - folder.f_bfree) * folder.f_frsize
        if room < 0:
            return "memory"
        processors = len(os.sched_getaffinity(0))
        soonest = room / (_FASTEST * processors)
        self._pause = min(TICK, max(_LEAST_TICK, soonest))
        if load.threads > self.limits.processes:
            return "processes"
        return "time" if self._seconds > self.limits.seconds else None

    def folders_are_full(self) -> bool:
        """Whether there is no room left in one, or too many files, folders and links in
        all."""
        inodes = 0
        for folder in self._folders_hold():
            if folder.f_bfree == 0:
                return True
            inodes += folder.f_files - folder.f_ffree
        return inodes > INODES

    def _folders_hold(self) -> list[os.statvfs_result]:
        """What can be written to: the work folder and shared memory."""
        return [os.fstatvfs(folder) for folder in self.folders[::2]]

    def _end(self) -> None:
        """Wait until nothing of the program is left."""
        while not self.cell.end() or self.cell.process.poll() is None:
            time.sleep(TICK / 10)

    def close(self) -> None:
        self._end()
        for source in (self.cell.process.stdout, self.cell.process.stderr):
            if source is not None:
                source.close()
        for folder in self.folders:
            os.close(folder)
        self.cell.close()
