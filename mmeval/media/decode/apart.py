"""Decodes in a separate process, for libraries that cannot be limited from inside.

The process has a limit of processor time and of memory for each step. Its environment
contains none of the user's keys, and it has no permission to write files. The process
decodes one medium after the other, and is replaced if a medium exceeds a limit. It does
not import the user's script, because it imports all its code by module name. Any
process or thread may decode. Each open stream has a separate decoding process.

The process sends bytes of a stated size, never a pickled object, which could run code
in this process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import multiprocessing.spawn
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    UnsupportedMediaError,
)
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media

IDLE_SECONDS = 60.0
"""A decoding process ends after this number of seconds without a request."""
_FRESH_SECONDS = 0.8 * IDLE_SECONDS
_MOST_MEDIA = 1000
"""A process is replaced after this number of media, because its libraries leak
memory."""
_WALL_FACTOR, _WALL_LEAST = 20.0, 60.0
"""The factor for the limit of wall time, and the minimum of this limit in seconds.

The limit ends a decoder that waits without using the processor. It is high, so that it
is not reached on a busy machine.
"""
ERRORS = {
    kind.__name__: kind
    for kind in (CorruptMediaError, MediaLimitError, UnsupportedMediaError)
}
"""The errors that the decoding process sends, by name."""
_KEPT_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
)
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from "
    "mmeval.media.decode.apart_worker import work; "
    "work(int(sys.argv[2]), int(sys.argv[3]))"
)


class Step(NamedTuple):
    """The result of one step: values for JSON, and the bytes that they describe."""

    facts: dict[str, Any]
    buffers: tuple[bytes, ...] = ()


def steps_apart(
    decoder: str, media: Media, data: bytes, limits: DecodeLimits, **options: Any
) -> Generator[Step, None, None]:
    """Yields the steps of a decoder that runs in the decoding process.

    Each step is computed when it is requested.

    ``decoder`` is ``module:function`` below ``mmeval.media.decode``. The function takes
    (media, limits, **options), imports the modules that it needs, and returns a
    generator of steps. The limits do not apply to these imports.

    Raises the ContentError that the decoder raises. Raises MediaLimitError if a step
    exceeds ``limits`` or the library crashes, and UnsupportedMediaError if the decoder
    does not run at all.
    """
    worker = _crew.take()
    usable = False
    try:
        seconds, size = limits.step_seconds(len(data)), limits.step_bytes(len(data))
        job = {
            "decoder": decoder,
            "label": media.label,
            "mime": media.mime,
            "limits": asdict(limits),
            "options": options,
            "seconds": seconds,
            "bytes": size,
        }
        worker.begin(job, data)
        while True:
            step = worker.step(media, seconds, size)
            if step is None:
                usable = True
                return
            usable = True  # The worker waits for a request, so it can be stopped.
            yield step
            usable = False
    except ContentError as error:
        usable = worker.is_waiting
        raise error
    finally:
        _crew.put_back(worker, usable=usable)


class _Worker:
    """The connection of this process to a decoding process."""

    def __init__(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        folders = [entry or str(Path.cwd()) for entry in sys.path]
        path = json.dumps(folders)
        command = [
            multiprocessing.spawn.get_executable(),
            "-I",
            "-c",
            _START,
            path,
            str(theirs.fileno()),
            str(os.getpid()),
        ]
        environment = {
            name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ
        }
        # More threads or heaps would reserve address space, and the memory limit
        # applies to address space.
        environment |= {
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1",
        }
        with theirs:
            self._process = subprocess.Popen(
                [os.fsdecode(word) for word in command],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                process_group=0,  # So that only this process receives Ctrl-C.
            )
        self._line: Connection = ours
        self._media = 0
        self._used = time.monotonic()
        self.is_waiting = False

    @property
    def is_fresh(self) -> bool:
        return (
            self._media < _MOST_MEDIA and time.monotonic() < self._used + _FRESH_SECONDS
        )

    def begin(self, job: dict[str, Any], data: bytes) -> None:
        self._media += 1
        # The next ``step`` detects that the process has ended.
        with contextlib.suppress(OSError):
            self._line.send_bytes(json.dumps(job).encode())
            self._line.send_bytes(data)

    def step(
        self,
        media: Media,
        seconds: float,
        size: int,
    ) -> Step | None:
        """Returns the next step, or None after the last step.

        Raises the error of the decoder.
        """
        self.is_waiting = False
        try:
            self._line.send_bytes(b"next")
            if not self._line.poll(max(_WALL_LEAST, _WALL_FACTOR * seconds)):
                raise MediaLimitError(
                    f"{media.label}: decoding it took too long and was stopped"
                )
            reply = json.loads(self._line.recv_bytes(1 << 20))
            buffers = tuple(
                self._line.recv_bytes() for _ in range(reply.get("buffers", 0))
            )
        except (EOFError, OSError):
            # The process has ended. The medium may be valid, so it is not reported as
            # damaged.
            code = self._process.wait()
            if code == -signal.SIGPROF:
                raise MediaLimitError(
                    f"{media.label}: decoding it needs more than {seconds:.3g} seconds "
                    "of processor time, the limit max_step_seconds for a file of its "
                    "size"
                ) from None
            if code >= 0:
                raise UnsupportedMediaError(
                    f"{media.label}: its decoder does not run (exit code {code}); "
                    "install mmeval again"
                ) from None
            cause = signal.Signals(-code).name
            raise MediaLimitError(
                f"{media.label}: its decoder crashed ({cause}); the file is damaged, "
                f"or it needs more than the {size >> 20} MiB of memory that "
                "max_step_bytes allows for a file of its size"
            ) from None
        self._used = time.monotonic()
        self.is_waiting = True
        if "facts" in reply:
            return Step(reply["facts"], buffers)
        if "error" in reply:
            raise ERRORS[reply["error"]](reply["words"])
        return None

    def stop(self) -> None:
        """Abandons the current medium, so that the process waits for another one."""
        with contextlib.suppress(OSError):
            self._line.send_bytes(b"stop")

    def end(self) -> None:
        self._line.close()
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """Closes this process's copy of a connection of its parent, after a fork."""
        self._line.close()
        self._process.returncode = 0


class _Crew:
    """The idle decoding processes, which wait for a medium."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def take(self) -> _Worker:
        with self._lock:
            stale = [worker for worker in self._idle if not worker.is_fresh]
            self._idle = [worker for worker in self._idle if worker.is_fresh]
            fresh = self._idle.pop() if self._idle else None
        for worker in stale:
            worker.end()
        return fresh or _Worker()

    def put_back(self, worker: _Worker, *, usable: bool) -> None:
        if not usable:
            worker.end()
            return
        worker.stop()
        with self._lock:
            self._idle.append(worker)

    def dismiss(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def forget(self) -> None:
        for worker in self._idle:
            worker.forget()
        self._lock, self._idle = threading.Lock(), []


_crew = _Crew()
atexit.register(_crew.dismiss)
os.register_at_fork(after_in_child=_crew.forget)
