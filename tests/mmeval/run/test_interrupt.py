import asyncio
import signal
import threading
from pathlib import Path

import pytest

from mmeval.errors import Interrupted
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.report.progress_bar import Quiet
from mmeval.run.interrupt import GRACE_SECONDS, interrupt_thread, interruptible
from mmeval.run.options import BackendSpec
from tests.support.in_loop import now, run_in_loop
from tests.support.toy import Toy, asked_text, run_toy, task


class Work:
    """Answers calls, each after ``seconds``; begins no new one once it is stopped."""

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


def later(seconds: float, number: signal.Signals) -> None:
    """A signal to this process after a while."""
    asyncio.get_running_loop().call_later(seconds, signal.raise_signal, number)


async def test_work_that_nothing_stops_ends_by_itself_and_the_handlers_of_the_caller_are_put_back() -> None:
    async def fails() -> None:
        raise ValueError("no")

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        work = Work(calls=3)
        await interruptible(work, work.run(), Quiet())
        with pytest.raises(ValueError, match="no"):
            await interruptible(Work(), fails(), Quiet())
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (work.done, work.stopping) == (3, False)


async def test_the_first_signal_waits_for_what_is_in_flight(capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(seconds=1, calls=99)
    later(0.5, signal.SIGTERM)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), Quiet())
    assert (work.done, now()) == (1, pytest.approx(1))
    assert "1 answer in flight" in capsys.readouterr().err


async def test_the_second_signal_leaves_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(seconds=5)
    work.in_flight = 1200
    for seconds in (0.5, 1.5):
        later(seconds, signal.SIGINT)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), Quiet())
    assert (work.done, now()) == (0, pytest.approx(1.6, abs=0.1))
    assert "1,200 answers in flight" in capsys.readouterr().err


async def test_what_takes_too_long_is_left() -> None:
    work = Work(seconds=60)
    later(0.5, signal.SIGINT)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), Quiet())
    assert (GRACE_SECONDS, now()) == (10, pytest.approx(10.5, abs=0.1))


def test_work_of_a_thread_is_stopped_by_its_identity() -> None:
    work, ended = Work(seconds=1, calls=99), list[str]()

    async def stopped() -> None:
        asyncio.get_running_loop().call_later(0.5, interrupt_thread, threading.get_ident())
        await interruptible(work, work.run(), Quiet())

    def run() -> None:
        try:
            run_in_loop(stopped())
        except Interrupted:
            ended.append("interrupted")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    interrupt_thread(-1)  # which works at nothing
    assert (work.done, ended) == (1, ["interrupted"])


def test_a_stopped_run_keeps_every_answer_and_the_next_asks_the_rest(tmp_path: Path) -> None:
    class Stopping(Toy):
        async def generate(self, request: Request) -> Response:
            if len(self.asked) == 4:
                signal.raise_signal(signal.SIGINT)
            return await super().generate(request)

    stopped, second = Stopping(), Toy()
    with pytest.raises(Interrupted):
        run_toy(tmp_path, task(rows=12), model=BackendSpec("toy", instance=stopped), max_connections=2)
    outcome = run_toy(tmp_path, task(rows=12), model=BackendSpec("toy", instance=second))
    assert 5 <= len(stopped.asked) < 12
    assert (outcome.counts.kept, outcome.counts.new) == (len(stopped.asked), 12 - len(stopped.asked))
    asked = [asked_text(request) for request in (*stopped.asked, *second.asked)]
    assert sorted(asked) == sorted(f"question {i}" for i in range(12))
