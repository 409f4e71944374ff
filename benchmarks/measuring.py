"""What benchmarks share: a figure beside its goal, calls measured in turns, and whole
processes."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Figure:
    """A measured value and its goal, which it must not pass or, ``at_least``, has to
    reach; None: there is no goal.

    ``note`` is what else was measured.
    """

    name: str
    value: float
    goal: float | None = None
    unit: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        return self.goal is None or (
            self.value >= self.goal if self.at_least else self.value <= self.goal
        )


def seconds(call: Callable[[], object]) -> float:
    """Seconds of a call by the wall clock."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def busy(call: Callable[[], object]) -> float:
    """Seconds of the processor: another process that takes its turn does not count."""
    started = time.process_time()
    call()
    return time.process_time() - started


def processor_seconds(process: int | str) -> float:
    """Seconds of the processor that a process has taken, with those of its children
    that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Others:
    """What other programs do meanwhile: the processors that they take, since the last
    look."""

    def __init__(self) -> None:
        self._seen = self._look()

    def cores(self) -> float:
        before, self._seen = self._seen, self._look()
        wall, everything, own = (
            now - then for now, then in zip(self._seen, before, strict=True)
        )
        return max(0.0, (everything - own) / wall) if wall else 0.0

    @staticmethod
    def _look() -> tuple[float, float, float]:
        """The time, and the seconds of processors taken by all, and by the processes of
        this one's group."""
        user, nice, system, _idle, _waiting, *interrupts = (
            Path("/proc/stat").read_text().split("\n")[0].split()[1:8]
        )
        own = 0.0
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended
                if os.getpgid(int(process.name)) == os.getpgrp():
                    own += processor_seconds(process.name)
        taken = sum(map(int, (user, nice, system, *interrupts))) / os.sysconf(
            "SC_CLK_TCK"
        )
        return time.monotonic(), taken, own


class Fresh:
    """``package.module:function``, called in a process of its own; arguments and result
    are JSON."""

    def __init__(self, function: str, *arguments: Any) -> None:
        words = [
            sys.executable,
            "-m",
            "benchmarks.measuring",
            function,
            json.dumps(arguments),
        ]
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    def result(self) -> Any:
        """Wait for it. Raises RuntimeError where the process failed."""
        out, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(
                f"{self._process.args!r} ended with {self._process.returncode}"
            )
        return json.loads(out.splitlines()[-1])


@dataclass(frozen=True)
class Measured:
    """A process and its children: seconds of wall time and of CPU, and MiB.

    ``peak`` is the peak resident set of the process; ``shared`` that of all, pages that
    processes share counted once, and ``private`` that of pages that no other process
    has (0: not sampled). ``active``: seconds a server was busy.
    """

    wall: float
    cpu: float
    peak: float
    shared: float = 0.0
    private: float = 0.0
    active: float = 0.0


def measure(
    command: Sequence[str], cwd: Path = ROOT, *, memory: bool = False
) -> Measured:
    """Run a command to its end. Raises RuntimeError with its stderr when it fails."""
    env = {**os.environ, "OPENAI_API_KEY": "bench", "HF_HUB_OFFLINE": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its byte code
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=env, cwd=cwd, stdout=subprocess.DEVNULL, stderr=errors
        )
        sampled = _Memory(process.pid, family=memory)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(
                f"{' '.join(command[:4])} ... ended with {process.returncode}: "
                f"{errors.read().decode()}"
            )
    return Measured(wall, usage.ru_utime + usage.ru_stime, *sampled.stop())


def high_water(process: int | str = "self") -> float:
    """The most MiB that a process has taken. ``getrusage`` would begin with those of
    the process that started it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return (
        next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
        / 1024
    )


class _Memory:
    """Samples the memory of a process, in MiB: its peak, and where its ``family``
    counts, too, the proportional set size and the private dirty pages of it and its
    children."""

    def __init__(self, pid: int, *, family: bool) -> None:
        self._pid, self._counts_family = pid, family
        self._top, self._done = [0.0, 0.0, 0.0], threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> Sequence[float]:
        self._done.set()
        self._thread.join()
        return self._top

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self._note(0, high_water(self._pid))
            if self._counts_family:
                # A set: a child between vfork and exec has its parent's very memory,
                # which must not count twice.
                sizes = [
                    _sizes(rollup)
                    for rollup in {_rollup(pid) for pid in _family(self._pid)}
                ]
                for kind in (0, 1):
                    self._note(1 + kind, sum(size[kind] for size in sizes))

    def _note(self, kind: int, size: float) -> None:
        self._top[kind] = max(self._top[kind], size)


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _rollup(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return ""


def _sizes(rollup: str) -> tuple[float, float]:
    kib = {line.split(":")[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    return (kib.get("Pss", 0) / 1024, kib.get("Private_Dirty", 0) / 1024)


def _called(function: str, arguments: str) -> None:
    module, _, name = function.partition(":")
    print(
        json.dumps(
            getattr(importlib.import_module(module), name)(*json.loads(arguments))
        )
    )


if __name__ == "__main__":
    _called(*sys.argv[1:])
