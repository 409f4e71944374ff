"""Runs one program within its limits, and collects its output."""

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
"""Maximum seconds until a program begins, which is enough on a busy machine."""
_CHUNK = 1 << 16
_MIN_TICK = TICK / 10
_MAX_FILL_RATE = 8 * 2**30
"""Maximum rate, in bytes per second, at which a program fills memory on one processor.
It decides how soon a program near its limit is measured again."""


class SandboxError(MmevalError):
    """Raised if the sandbox itself fails, so that the program does not run."""


@dataclass(frozen=True)
class ProgramResult:
    """The result of a program.

    ``output`` and ``errors`` are its printed texts. ``status`` is the exit status; it
    is 128 + the number of the signal if a signal ended the program. ``was_ended`` is
    True if the program was ended at a limit. The status is then meaningless.
    ``reached`` lists the reached limits.
    """

    output: str
    errors: str
    status: int
    was_ended: bool
    reached: tuple[Reason, ...]
    files: Outputs
    seconds: float


def execute(
    bubblewrap: Bubblewrap,
    program: SandboxProgram,
    limits: ProgramLimits,
    stop: threading.Event,
) -> ProgramResult:
    """Runs a program. Raises SandboxError if it could not begin or was stopped."""
    began = time.monotonic()
    process = bubblewrap.begin(program, limits)
    running = _RunningProgram(process, limits, began)
    try:
        running.follow(stop)
        if stop.is_set():
            raise SandboxError("the run was stopped before the program ended")
        if not running.folders:
            reason = f"no error, or more than {START_SECONDS:.0f} seconds"
            lines = running.errors.decode("utf-8", "replace").strip().splitlines()
            if lines:
                reason = lines[-1].strip()[:500]
            raise SandboxError(f"{bubblewrap.name} could not start: {reason}")
        status = process.process.returncode
        outputs = outputs_of(running.folders[1], limits)
        if process.reached_memory and not running.reached:
            running.reached.append("memory")
        is_full = outputs.too_many or running.folders_are_full()
        if is_full and "files" not in running.reached:
            running.reached.append("files")
        return ProgramResult(
            running.output.decode("utf-8", "replace"),
            running.errors.decode("utf-8", "replace"),
            status if status >= 0 else 128 - status,
            running.was_ended,
            tuple(running.reached),
            outputs,
            time.monotonic() - began,
        )
    finally:
        running.close()


@dataclass
class _RunningProgram:
    """A program in its sandbox, which is watched until the program ends."""

    sandbox: SandboxProcess
    limits: ProgramLimits
    began: float
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    folders: list[int] = field(default_factory=list)
    """Descriptors of the work folder, ``output/`` and ``/dev/shm``.

    These descriptors remain valid after the sandbox has ended.
    """
    reached: list[Reason] = field(default_factory=list)
    was_ended: bool = False
    _seconds: float = 0.0
    _pause: float = TICK
    """Maximum seconds until the next measurement."""

    def follow(self, stop: threading.Event) -> None:
        """Reads the output until all processes have ended.

        Ends the program when it reaches a limit.
        """
        process = self.sandbox.process
        assert process.stdout is not None and process.stderr is not None
        handle = os.pidfd_open(process.pid)
        with contextlib.closing(selectors.DefaultSelector()) as selector:
            for source in (process.stdout, process.stderr):
                os.set_blocking(source.fileno(), False)
                selector.register(source, selectors.EVENT_READ)
            for other in (self.sandbox.line, handle):
                selector.register(other, selectors.EVENT_READ)
            try:
                while process.poll() is None:
                    for key, _ in selector.select(self._pause):
                        if key.fileobj is not handle and not self._read_once(
                            key.fileobj
                        ):
                            selector.unregister(key.fileobj)
                    if not self.reached and (reason := self._reached_limit()):
                        self.reached.append(reason)
                    if self.reached or stop.is_set():
                        self.was_ended = True
                        self.sandbox.end()
                self._end()
                for open_source in (process.stdout, process.stderr, self.sandbox.line):
                    while self._read_once(open_source):
                        pass
            finally:
                os.close(handle)

    def _read_once(self, source: Any) -> bool:
        """Reads once from a pipe or from the line.

        Returns False at the end of the data, or if there is no data yet.
        """
        if source is self.sandbox.line:
            if self.folders:
                return False
            self.folders = self.sandbox.receive()
            if self.folders:
                self.began = time.monotonic()
            return bool(self.folders)
        data = None
        with contextlib.suppress(BlockingIOError):
            data = os.read(source.fileno(), _CHUNK)
        target = self.output if source is self.sandbox.process.stdout else self.errors
        bytes_left = self.limits.output_kb * 1024 - len(self.output) - len(self.errors)
        if data and len(data) > bytes_left:
            if "output" not in self.reached:
                self.reached.append("output")
            data = data[: max(bytes_left, 0)]
        target += data or b""
        return bool(data)

    def _reached_limit(self) -> Reason | None:
        seconds = self.limits.seconds if self.folders else START_SECONDS
        if time.monotonic() - self.began > seconds:
            return "time"
        if self.folders_are_full():
            return "files"
        use = self.sandbox.resource_use()
        if use is None:
            return None
        self._seconds = max(self._seconds, use.seconds)
        bytes_left = self.limits.memory_mb * MIB - use.memory
        for folder in self._folder_stats():
            bytes_left -= (folder.f_blocks - folder.f_bfree) * folder.f_frsize
        if bytes_left < 0:
            return "memory"
        processors = len(os.sched_getaffinity(0))
        soonest = bytes_left / (_MAX_FILL_RATE * processors)
        self._pause = min(TICK, max(_MIN_TICK, soonest))
        if use.threads > self.limits.processes:
            return "processes"
        return "time" if self._seconds > self.limits.seconds else None

    def folders_are_full(self) -> bool:
        """Returns True if a folder is full, or if the folders contain too many entries.

        All files, folders and links in all folders are counted together.
        """
        inodes = 0
        for folder in self._folder_stats():
            if folder.f_bfree == 0:
                return True
            inodes += folder.f_files - folder.f_ffree
        return inodes > INODES

    def _folder_stats(self) -> list[os.statvfs_result]:
        """Returns statistics of the work folder and shared memory."""
        return [os.fstatvfs(folder) for folder in self.folders[::2]]

    def _end(self) -> None:
        """Ends the program, and waits until all its processes have ended."""
        while not self.sandbox.end() or self.sandbox.process.poll() is None:
            time.sleep(TICK / 10)

    def close(self) -> None:
        self._end()
        for source in (self.sandbox.process.stdout, self.sandbox.process.stderr):
            if source is not None:
                source.close()
        for folder in self.folders:
            os.close(folder)
        self.sandbox.close()
