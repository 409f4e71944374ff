"""What tests of the engine stand on: a loop whose clock jumps, journals and brokers over a
folder, disks that misbehave."""

import asyncio
import contextlib
import os
import resource
import selectors
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.contract import AnyBackend
from mmeval.broker.broker import Broker
from mmeval.broker.runtime import BackendRuntime
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore

# Tests that are coroutines. The clock of their event loop stands still while there is
# something to do; when all of it waits, the clock jumps to the next timer. A minute
# of waiting takes no time, and a busy machine changes nothing.

_BEGIN = 1000.0


class _Selector(selectors.DefaultSelector):
    """Waits by moving its own clock; work of threads takes no time on it."""

    seconds = _BEGIN

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(timeout if timeout is None else 0)
        if not ready and timeout is not None:
            self.seconds += timeout
        return ready


def _loop() -> asyncio.SelectorEventLoop:
    selector = _Selector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.seconds  # type: ignore[method-assign]
    return loop


def now() -> float:
    """Seconds since the test began, by the clock of its loop."""
    return asyncio.get_running_loop().time() - _BEGIN


def run_in_loop(test: Coroutine[Any, Any, None]) -> None:
    """Below tests/mmeval every test that is a coroutine is run like this."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(test)


HOUR = 3600.0


@contextmanager
def hour_passes_once(condition: Callable[[], bool]) -> Iterator[None]:
    """The clock of this thread's event loops is an hour ahead once a condition holds: a
    time limit is reached after an event, however slow the machine is."""
    thread = threading.get_ident()

    def seconds(_: asyncio.BaseEventLoop) -> float:
        # servers of the test run in threads of their own, by the usual clock
        has_passed = threading.get_ident() == thread and condition()
        return time.monotonic() + (HOUR if has_passed else 0.0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio.BaseEventLoop, "time", seconds)
        yield


@contextmanager
def hour_passes_in_pause() -> Iterator[None]:
    """The first pause of an hour takes no time: a time limit is reached in the pause,
    while nothing else is under way."""
    sleep = asyncio.sleep
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        if seconds < HOUR:
            await sleep(seconds)
        else:
            pauses.append(seconds)
            await sleep(0.001)  # later than the limits that the hour has reached

    with (
        hour_passes_once(lambda: bool(pauses)),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(asyncio, "sleep", pause)
        yield


# Journals and brokers over a folder; the same folder again continues.


@contextmanager
def opened(folder: Path, *, writable: bool = True) -> Iterator[Journal]:
    journal = Journal(
        folder / "journal", MediaStore(folder / "media"), writable=writable
    )
    try:
        yield journal
    finally:
        journal.close()


@asynccontextmanager
async def brokered(
    folder: Path,
    *,
    limit: int = 8,
    retries: int = 0,
    seed: int = 0,
    nonce: str = "",
    **roles: AnyBackend,
) -> AsyncIterator[Broker]:
    with opened(folder) as journal:
        broker = Broker(
            journal, seed=seed, nonce=nonce, reasoning_tags=("<think>", "</think>")
        )
        broker.roles = {
            name: BackendRuntime(
                backend, limit=limit, retries=retries, live=lambda: broker.live_trials
            )
            for name, backend in roles.items()
        }
        try:
            yield broker
        finally:
            await broker.close()


# Disks that misbehave: one that is full until it grows, and a folder that takes no
# file.


class SmallDisk:
    """A disk of its own, mounted at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def remount(self, options: str) -> None:
        _run("mount", "-o", f"remount,{options}", str(self.path))


@contextlib.contextmanager
def small_disk(path: Path, *, kibibytes: int) -> Iterator[SmallDisk]:
    """A disk of a given size. Skips the test where nothing may be mounted (a user other
    than root, most containers)."""
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


@contextlib.contextmanager
def unwritable(path: Path) -> Iterator[Path]:
    """A folder in which the kernel allows no writing, not even to root."""
    if os.geteuid() == 0:
        with small_disk(path, kibibytes=64) as disk:
            disk.remount("ro")
            yield path
        return
    path.mkdir(mode=0o555)
    try:
        yield path
    finally:
        path.chmod(0o755)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextlib.contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes, until the block ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
