from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK, Interrupted
from mmeval.report.progress_bar import Quiet
from mmeval.run import interrupt
from mmeval.run.interrupt import interruptible
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import asked_in, registered

ROOT = Path(__file__).parents[3]


class Work:
    """Answers ``in_flight`` calls, each after ``seconds``; begins no new one once it is told to stop."""

    def __init__(self, seconds: float = 0.0, calls: int = 1) -> None:
        self.stopping = False
        self.in_flight = 1
        self.done = 0
        self._seconds, self._calls = seconds, calls

    def stop(self) -> None:
        self.stopping = True

    async def run(self) -> None:
        while self.done < self._calls and not self.stopping:
            await asyncio.sleep(self._seconds)
            self.done += 1


def later(seconds: float, *numbers: signal.Signals) -> None:
    """Signals to this process after a while, one after the other."""
    for position, number in enumerate(numbers, 1):
        asyncio.get_running_loop().call_later(seconds * position, os.kill, os.getpid(), number)


async def test_work_that_nobody_stops_ends_by_itself() -> None:
    work = Work(calls=3)
    await interruptible(work, work.run(), Quiet())
    assert (work.done, work.stopping) == (3, False)


async def test_what_the_work_raises_is_raised() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await interruptible(Work(), fails(), Quiet())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_the_first_signal_waits_for_what_is_in_flight(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    work = Work(seconds=0.1, calls=99)
    later(0.02, number)
    with pytest.raises(Interrupted, match=r"everything that was answered is saved. The same command continues"):
        await interruptible(work, work.run(), Quiet())
    assert work.done == 1
    assert capsys.readouterr().err == "stopping: waiting for 1 answer in flight (Ctrl-C again leaves them)\n"


async def test_the_handlers_of_whoever_called_are_put_back() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        work = Work()
        await interruptible(work, work.run(), Quiet())
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


async def test_the_second_signal_leaves_at_once() -> None:
    work = Work(seconds=5)
    later(0.02, signal.SIGINT, signal.SIGINT)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), Quiet())
    assert work.done == 0


async def test_what_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "GRACE_SECONDS", 0.05)
    work = Work(seconds=5)
    later(0.02, signal.SIGINT)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), Quiet())


# --- a whole run in a process of its own -------------------------------------------------------------------------


class Runs:
    """Runs of the same command; the toy model takes ``delay`` seconds for an answer."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        tasks = write_benchmark(folder / "tasks", rows=12)
        path = os.pathsep.join((str(ROOT), str(site)))
        self._env = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
        self._flags = ["--tasks", "tiny", "--include_path", str(tasks), "--output_path", str(folder / "runs")]

    def start(self, delay: float) -> subprocess.Popen[str]:
        model = ["--model", "toy", "--model_args", f"delay={delay},log={self.folder / 'asked'}"]
        command = [sys.executable, "-m", "mmeval", *self._flags, *model, "--max_connections", "2"]
        return subprocess.Popen(command, env=self._env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def journalled(self) -> int:
        return sum(file.read_bytes().count(b"\n") for file in self.folder.rglob("journal/*.jsonl"))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    with registered(tmp_path / "site", monkeypatch):
        yield Runs(tmp_path, tmp_path / "site")


def until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_stopped_run_keeps_every_answer_and_the_next_asks_the_rest(runs: Runs, number: signal.Signals) -> None:
    with runs.start(delay=0.15) as stopped:
        until(lambda: runs.journalled() >= 2)
        stopped.send_signal(number)
        _, said = stopped.communicate(timeout=30)
    asked = asked_in(runs.folder)
    assert (stopped.returncode, runs.journalled()) == (EXIT_INTERRUPTED, len(asked))
    assert 2 <= len(asked) < 12
    assert said.splitlines()[-1] == "stopped; everything that was answered is saved. The same command continues"

    with runs.start(delay=0.0) as second:
        _, said = second.communicate(timeout=30)
    assert second.returncode == EXIT_OK, said
    assert said.startswith(f"kept {len(asked)} answers from ")
    assert asked_in(runs.folder) == sorted(f"question {i}" for i in range(12))


def test_a_second_ctrl_c_leaves_a_slow_backend_at_once(runs: Runs) -> None:
    with runs.start(delay=60) as stopped:
        until(lambda: len(asked_in(runs.folder)) == 2)
        stopped.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert stopped.stderr is not None
        until(lambda: "stopping: waiting for" in stopped.stderr.readline())  # type: ignore[union-attr]  # not None
        stopped.send_signal(signal.SIGINT)
        stopped.communicate(timeout=30)
    assert stopped.returncode == EXIT_INTERRUPTED
    assert time.monotonic() - began < 5


def test_a_metric_at_work_does_not_keep_a_stopped_run_from_ending(runs: Runs) -> None:
    file = runs.folder / "tasks" / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_yes"))
    (runs.folder / "tasks" / "data" / "test.jsonl").write_text('{"id": "0", "input": "hang"}\n')
    with runs.start(delay=0) as stopped:
        until(lambda: runs.journalled() == 1)
        for _ in range(2):
            time.sleep(0.3)
            stopped.send_signal(signal.SIGINT)
        stopped.communicate(timeout=10)
    assert stopped.returncode == EXIT_INTERRUPTED
