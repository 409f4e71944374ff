import asyncio
import signal
import threading
from typing import Any

import pytest

from mmeval.errors import Interrupted
from mmeval.report.progress_bar import QuietProgress
from mmeval.run import interrupt
from mmeval.run.interrupt import GRACE_SECONDS, interrupt_thread, interruptible
from tests.support.engine import now, run_in_loop


class Work:
    """Answers calls, each after ``seconds``; begins no new one once it is stopped."""

    def __init__(self, seconds: float = 0.0, calls: int = 1) -> None:
        self.stopping = False
        self.in_flight = 1
        self.done = 0
        self.left = False
        self._seconds, self._calls = seconds, calls

    def stop(self) -> None:
        self.stopping = True

    async def leave(self) -> None:
        self.left = True

    async def run(self) -> None:
        while self.done < self._calls and not self.stopping:
            await asyncio.sleep(self._seconds)
            self.done += 1


async def test_work_that_nothing_stops_ends_by_itself_and_the_handlers_of_the_caller_are_put_back() -> (
    None
):
    async def fails() -> None:
        raise ValueError("no")

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        work = Work(calls=3)
        await interruptible(work, work.run(), QuietProgress())
        with pytest.raises(ValueError, match="no"):
            await interruptible(Work(), fails(), QuietProgress())
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (work.done, work.stopping) == (3, False)


@pytest.mark.parametrize(
    ("seconds", "in_flight", "signals", "end", "words"),
    [
        (1, 1, {0.5: signal.SIGTERM}, (1, 1), "in flight: 1 "),
        (
            5,
            1200,
            {0.5: signal.SIGINT, 1.5: signal.SIGINT},
            (0, 1.5),
            "in flight: 1,200 ",
        ),
        (60, 1, {0.5: signal.SIGINT}, (0, 10.5), "in flight: 1 "),
    ],
    ids=[
        "waits for what is in flight",
        "a second one leaves at once",
        "what takes too long is left",
    ],
)
async def test_a_signal_stops(
    seconds: float, in_flight: int, signals: Any, end: Any, words: str, capsys: Any
) -> None:
    work = Work(seconds, calls=99)
    work.in_flight = in_flight
    for moment, number in signals.items():
        asyncio.get_running_loop().call_later(moment, signal.raise_signal, number)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), QuietProgress())
    assert ((work.done, now()), GRACE_SECONDS) == (
        (end[0], pytest.approx(end[1], abs=0.1)),
        10,
    )
    assert words in capsys.readouterr().err


def test_a_second_signal_ends_a_step_that_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def stuck() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it goes on")

    monkeypatch.setattr(interrupt, "STUCK_SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(interruptible(Work(), stuck(), QuietProgress()))


async def test_a_signal_in_the_last_turn_of_the_work_is_no_end_without_one() -> None:
    async def last_turn() -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        await interruptible(Work(), last_turn(), QuietProgress())


async def test_a_machine_that_stands_still_takes_none_of_the_turns_in_which_answers_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, work = asyncio.get_running_loop(), Work(seconds=5, calls=99)
    still, time = [0.0], loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + still[0])
    loop.call_later(1, signal.raise_signal, signal.SIGTERM)
    loop.call_later(2, still.__setitem__, 0, 100.0)
    with pytest.raises(Interrupted):
        await interruptible(work, work.run(), QuietProgress())
    assert (work.done, work.left) == (1, False)


def test_work_of_a_thread_is_stopped_by_its_identity() -> None:
    work, ended = Work(seconds=1, calls=99), list[str]()

    async def stopped() -> None:
        asyncio.get_running_loop().call_later(
            0.5, interrupt_thread, threading.get_ident()
        )
        await interruptible(work, work.run(), QuietProgress())

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
