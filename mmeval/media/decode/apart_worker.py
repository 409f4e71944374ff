"""The program of the decoding process.

The process decodes one medium after the other, within limits.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import resource
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mmeval.errors import ContentError
from mmeval.media.decode.apart import IDLE_SECONDS, Step
from mmeval.media.decode.guard import decoding, quiet
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.media import Media
from mmeval.system.processes import is_orphan

_PACKAGE = "mmeval.media.decode."
_DEEPEST = 400
"""The maximum recursion depth of Python.

At this depth, a deeply nested document causes an error before the C stack overflows.
"""


def work(handle: int, parent: int) -> None:
    """Decodes until the parent process ends, or sends no request for a while."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with Connection(handle) as line, contextlib.suppress(EOFError, OSError):
        while _has_request(line, parent, seconds=IDLE_SECONDS):
            job = line.recv_bytes()
            if job not in (
                b"next",
                b"stop",
            ):  # these are late requests for a finished medium
                _decode(line, parent, json.loads(job), line.recv_bytes())


def _has_request(
    line: Connection,
    parent: int,
    *,
    seconds: float = math.inf,
) -> bool:
    """Waits for a request.

    Returns False if none arrives in time, or if the parent has ended.

    If the parent ends, a forked child of the parent may still have the connection open.
    Therefore this function also checks whether the parent has ended.
    """
    end = time.monotonic() + seconds
    while not line.poll(1.0):
        if is_orphan(parent) or time.monotonic() > end:
            return False
    return True


def _decode(
    line: Connection,
    parent: int,
    job: dict[str, Any],
    data: bytes,
) -> None:
    mime = job["mime"]
    media = Media(data=data, mime=mime, size=len(data), name=job["label"])
    module, function = job["decoder"].split(":")
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{job['decoder']} is not a decoder")
    decoder: Callable[..., Generator[Step, None, None]]
    decoder = getattr(importlib.import_module(module), function)
    steps = decoder(media, DecodeLimits(**job["limits"]), **job["options"])
    with contextlib.closing(steps):
        while _has_request(line, parent) and line.recv_bytes() == b"next":
            try:
                with (
                    _bounded(job["seconds"], job["bytes"]),
                    decoding(media, media.mime),
                    quiet(),
                ):
                    step = next(steps, None)
            except ContentError as error:
                _send(line, {"error": type(error).__name__, "words": str(error)})
                return
            if step is None:
                _send(line, {})
                return
            reply = {"facts": step.facts, "buffers": len(step.buffers)}
            _send(line, reply, *step.buffers)


def _send(line: Connection, reply: dict[str, Any], *buffers: bytes) -> None:
    line.send_bytes(json.dumps(reply).encode())
    for buffer in buffers:
        line.send_bytes(buffer)


@contextlib.contextmanager
def _bounded(seconds: float, size: int) -> Iterator[None]:
    """Limits processor time and additional memory.

    The kernel kills the process if it exceeds the time.
    """
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    depth = sys.getrecursionlimit()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + size
    # Without /proc the current use of address space is unknown, so memory is not
    # limited.
    except OSError:
        most = 2**40 + size
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    sys.setrecursionlimit(_DEEPEST)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.setrecursionlimit(depth)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
