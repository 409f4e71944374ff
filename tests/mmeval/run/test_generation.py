import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mmeval.backend.contract import AnyBackend
from mmeval.broker.broker import Broker
from mmeval.errors import Interrupted, KeyRefusedError, StorageError
from mmeval.program.calls import Program, ask_one
from mmeval.program.protocols import Ask, episode
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.report.progress_bar import QuietProgress
from mmeval.run.generation import Generation
from mmeval.run.interrupt import interruptible
from mmeval.run.jobs import JobQueue, TrialJob
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.task_run import scoring_plan, task_run
from mmeval.store.journal import Journal, JournalEntry
from mmeval.store.media_store import MediaStore
from mmeval.system.json_lines import from_line
from mmeval.task.task import Task
from tests.support.engine import brokered, now
from tests.support.toy import Toy, asked_text, picture, reply, sample, samples, task


class Bench:
    """The generation of one task in a folder, with what it left there."""

    def __init__(self, folder: Path, toy: Task, broker: Broker, slots: int) -> None:
        self.run = task_run(
            folder, toy, scoring_plan(toy, folder / "media"), {}, scoring=False
        )
        options = RunOptions(model=BackendSpec("toy"), output_path=folder)
        self.jobs = JobQueue((toy,), options, MediaStore(folder / "media"))
        self.generation = Generation(
            [self.run], broker, None, QuietProgress(), slots=lambda: slots
        )
        self.tally, self.broker, self._folder = self.generation.tally, broker, folder

    async def generate(self) -> None:
        await self.generation.run(iter(self.jobs))
        self.run.records.close()

    def trials(self) -> list[dict[str, Any]]:
        lines = (self._folder / "trials" / "toy.jsonl").read_bytes().splitlines()
        return sorted(
            (from_line(line) for line in lines), key=lambda row: (row["i"], row["n"])
        )


@asynccontextmanager
async def bench(
    folder: Path, toy: Task, model: AnyBackend, *, slots: int = 4, **more: Any
) -> AsyncIterator[Bench]:
    async with brokered(folder, model=model, **more) as broker:
        made = Bench(folder, toy, broker, slots)
        try:
            yield made
        finally:
            made.run.close()


async def generated(folder: Path, toy: Task, model: AnyBackend, **more: Any) -> Bench:
    async with bench(folder, toy, model, **more) as at:
        await at.generate()
    return at


async def test_a_trial_is_recorded_by_its_answers_and_media_without_their_place(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, task(rows=2, repeats=2), Toy()) as at:
        await at.generate()
        rows = at.trials()
        assert [(row["i"], row["n"], len(row["x"])) for row in rows] == [
            (0, 0, 1),
            (0, 1, 1),
            (1, 0, 1),
            (1, 1, 1),
        ]
        assert all(
            "output" not in row and key in at.broker.journal
            for row in rows
            for _, _, key in row["x"]
        )
    turns = Sample("s", (user("draw"), user("draw again")))
    model = Toy(answers=lambda _: reply("<image1>", picture(1)))
    (row,) = (
        await generated(tmp_path / "whole", task(rows=[turns], protocol=episode), model)
    ).trials()
    assert [part["media"]["sha256"] for part in row["output"]] == [
        picture(1).sha256
    ] * 2
    assert str(tmp_path) not in str(row)


async def test_an_answer_that_another_trial_was_given_just_now_is_new(
    tmp_path: Path,
) -> None:
    same = [sample("a", "question 0"), sample("b", "question 0")]
    for found in ((0, 2), (2, 0)):
        at = await generated(tmp_path, task(rows=same), Toy(), slots=1)
        assert (at.tally.kept, at.tally.new) == found


async def test_what_was_kept_open_and_cannot_be_asked_is_known_before(
    tmp_path: Path,
) -> None:
    shown = Sample("p", (user("look", picture()),))
    await generated(tmp_path, task(rows=2), Toy(takes="text"))
    torn = Sample("t", (), fault="row 4: torn")
    async with bench(
        tmp_path, task(rows=[*samples(3), shown, torn]), Toy(takes="text")
    ) as at:
        assert at.generation.kept_before(iter(at.jobs)) == {
            "kept": 2,
            "open": 1,
            "unaskable": 2,
        }


async def test_kept_trials_are_tallied_before_the_run(tmp_path: Path) -> None:
    await generated(tmp_path, task(rows=2), Toy())
    async with bench(tmp_path, task(rows=3), Toy()) as at:
        at.generation.kept_before(iter(at.jobs))
        assert at.generation.settled == 2
        assert at.tally.kept == 2


async def test_an_answer_is_read_once_for_each_kept_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await generated(tmp_path, task(rows=2), Toy())
    keys = list[str]()
    get = Journal.get

    def counted(journal: Journal, key: str) -> JournalEntry | None:
        keys.append(key)
        return get(journal, key)

    monkeypatch.setattr(Journal, "get", counted)
    async with bench(tmp_path, task(rows=2), Toy()) as at:
        at.generation.kept_before(iter(at.jobs))
        await at.generate()
        assert at.tally.kept == 2
    assert len(keys) == 2


async def test_a_kept_trial_of_a_changed_sample_is_recorded_again(
    tmp_path: Path,
) -> None:
    rows = samples(2)
    await generated(tmp_path, task(rows=rows), Toy())
    changed = replace(rows[0], metadata={"level": "new"})
    async with bench(tmp_path, task(rows=[changed, rows[1]]), Toy()) as at:
        at.generation.kept_before(iter(at.jobs))
        assert at.generation.settled == 1


@pytest.mark.parametrize(("failures", "most"), [(0, 3), (8, 9)])
async def test_slots_are_added_while_calls_wait_to_be_sent_again(
    tmp_path: Path, failures: int, most: int
) -> None:
    counts, sent = list[int](), list[int]()

    class FailingAtFirst(Toy):
        async def generate(self, request: Request) -> Response:
            counts.append(at.broker.live_trials)
            sent.append(at.generation.in_flight)
            await asyncio.sleep(0.2)
            return (
                Response.failed("server", "busy")
                if len(counts) <= failures
                else await super().generate(request)
            )

    async with bench(
        tmp_path, task(rows=60), FailingAtFirst(), slots=3, limit=3, retries=5
    ) as at:
        await at.generate()
    assert (max(counts), max(counts[-30:]), at.tally.new) == (most, 3, 60)
    assert (max(sent), at.generation.in_flight) == (3, 0)


async def test_when_it_is_stopped_no_call_is_made_any_more_and_what_is_in_flight_is_kept(
    tmp_path: Path,
) -> None:
    def stop_at_five(request: Request) -> Response:
        if asked_text(request) == "question 5":
            at.generation.stop()
        return reply("answer")

    # Two calls at a time, though more slots hold a trial that waits for its turn.
    model = Toy(answers=stop_at_five, delay=1)
    async with bench(tmp_path, task(rows=50), model, slots=9, limit=2) as at:
        await at.generate()
        done = len(at.trials())
    assert 6 <= done == len(model.asked) <= 7
    assert (at.tally.new, at.tally.failed.total()) == (done, 0)


@pytest.mark.parametrize(
    ("seconds", "kept", "ends"), [(9, 3, 9), (60, 0, 10)], ids=["kept", "given up"]
)
async def test_answers_in_flight_are_waited_for(
    tmp_path: Path, seconds: float, kept: int, ends: float
) -> None:
    class Expiring(Toy):
        async def generate(self, request: Request) -> Response:
            if asked_text(request) == "question 3":
                return Response.failed("auth", "bad key")
            await asyncio.sleep(seconds)
            return await super().generate(request)

    async with bench(tmp_path, task(rows=50), Expiring(), slots=8, limit=8) as at:
        with pytest.raises(KeyRefusedError, match="bad key"):
            await at.generate()
        assert (len(at.broker.journal), now()) == (kept, pytest.approx(ends))


class Arriving(Toy):
    """Its reply is on its way through the loop when the backend is closed; question 1
    has no valid key."""

    async def generate(self, request: Request) -> Response:
        if asked_text(request) == "question 1":
            return Response.failed("auth", "bad key")
        self.arrived = asyncio.get_running_loop().create_future()
        await self.arrived
        return await super().generate(request)

    async def close(self) -> None:
        self.arrived.set_result(None)


@pytest.mark.parametrize(
    ("rows", "signals", "error", "ends"),
    [
        (1, (1, 2), Interrupted, 2),
        (1, (1,), Interrupted, 11),
        (2, (), KeyRefusedError, 10),
    ],
    ids=[
        "a second signal",
        "the end of the wait",
        "the end of the wait after an error",
    ],
)
async def test_a_reply_that_has_arrived_is_kept_by_a_run_that_is_left(
    rows: int,
    signals: Sequence[int],
    error: type[Exception],
    ends: float,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bench(tmp_path, task(rows=rows), Arriving()) as at:
        for moment in signals:
            asyncio.get_running_loop().call_later(
                moment, signal.raise_signal, signal.SIGTERM
            )
        with pytest.raises(error):
            await interruptible(at.generation, at.generate(), QuietProgress())
        assert (len(at.broker.journal), now()) == (1, pytest.approx(ends, abs=0.2))
    del at
    gc.collect()
    assert caplog.messages == [], "asyncio logs a task whose error is never read"


async def test_a_sample_that_cannot_be_stored_stops_the_run_with_its_own_error(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, task(rows=3), Toy()) as at:

        def jobs() -> Iterator[TrialJob]:
            yield next(iter(at.jobs))
            raise StorageError("disk full")

        with pytest.raises(StorageError, match="disk full"):
            await at.generation.run(jobs())


def leaving(*_: object) -> NoReturn:
    """A defect of code that is not ours."""
    raise SystemExit(0)


def forgot(ask: Ask) -> Program[None]:
    yield from ask_one(ask.call())


@pytest.mark.parametrize(
    ("changes", "model", "kept", "failure"),
    [
        ({"prompt": leaving}, Toy(), "open", "SystemExit: 0"),
        ({"protocol": leaving}, Toy(), "open", "SystemExit: 0"),
        ({}, Toy(answers=leaving), "open", "SystemExit: 0"),
        ({"protocol": forgot}, Toy(), "kept", "TypeError: "),
    ],
    ids=["prompt", "protocol", "backend", "a protocol that returns nothing"],
)
async def test_what_exits_fails_its_own_trials(
    tmp_path: Path, changes: Any, model: Toy, kept: str, failure: str
) -> None:
    for before in ("open", kept):
        async with bench(tmp_path, replace(task(rows=1), **changes), model) as at:
            assert at.generation.kept_before(iter(at.jobs)) == {before: 1}
            await at.generate()
            assert (
                at.tally.failed,
                next(iter(at.tally.reasons["internal"])).startswith(failure),
            ) == ({"internal": 1}, True)
