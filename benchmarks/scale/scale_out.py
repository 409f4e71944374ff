"""What it costs to answer at many places: actors of a Ray cluster on this machine, and
places that only sleep.

Rates are those of the answers after the first of each place, by the journal's own
times; the processor time is that of the process of the run, from a tenth of the rows to
the last. A simulated place is a worker that is no process.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import Figure, Fresh, high_water, processor_seconds
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_pool import WorkerPool
from mmeval.broker.worker_service import AnswerRow, WorkerJob
from mmeval.run.backends import Backends
from mmeval.run.options import BackendSpec
from mmeval.store.journal import Journal
from mmeval.system.json_lines import from_line
from tests.soak.support.ray import Nodes, RayRuns
from tests.support.parallel import ToyParallel, answered
from tests.support.toy import asked_text, reply, run_toy, task

NODES, ACTORS, ROW_SECONDS = 4, 8, 0.2
FEW, MANY, PLACE_SECONDS = 10, 1000, 2.0


class Cost(NamedTuple):
    """Of a run: rows a second as a share of what its places can do, milliseconds of
    processor a row, and MiB."""

    share: float
    cpu: float
    peak: float


def figures(quick: bool) -> Iterator[Figure]:
    each = 4 if quick else 10
    few = _simulated(FEW, each, PLACE_SECONDS)
    many = _simulated(MANY, each, PLACE_SECONDS)
    # as many rows as a figure of the processor needs
    busy = _simulated(FEW, 10 * each, PLACE_SECONDS / 20)
    ideal = MANY / PLACE_SECONDS
    yield Figure(
        f"rows of {MANY:,} simulated places of 2 s a row",
        many.share * ideal,
        0.9 * ideal,
        "/s",
        at_least=True,
    )
    yield Figure("peak memory of their run", many.peak, 300, " MiB")
    yield Figure(
        f"share of the ideal rate, of {FEW} places", few.share, 0.9, at_least=True
    )
    yield Figure(
        f"the same, {MANY:,} places to {FEW}",
        many.share / few.share,
        0.9,
        at_least=True,
    )
    note = f"{many.cpu:.2f} ms to {busy.cpu:.2f} ms"
    yield Figure(
        f"processor time a row, {MANY:,} places to {FEW}",
        many.cpu / busy.cpu,
        1.1,
        " times",
        note=note,
    )
    with tempfile.TemporaryDirectory() as name:
        cost = _actors(Path(name), 80 if quick else 400)
    ideal = ACTORS / ROW_SECONDS
    yield Figure(
        f"rows of {ACTORS} actors on {NODES} nodes, 0.2 s a row",
        cost.share * ideal,
        0.9 * ideal,
        "/s",
        at_least=True,
    )
    yield Figure("processor time of the run's process, a row", cost.cpu, 1.5, " ms")


def _actors(folder: Path, rows: int) -> Cost:
    nodes = Nodes(folder)
    try:
        for _ in range(NODES):
            nodes.add(ACTORS // NODES)
        runs = RayRuns(folder / "run", nodes, rows)
        with runs.begun(
            f"workers={ACTORS}", delay=ROW_SECONDS, max_batch_size=1
        ) as running:
            seen = []
            for answers in (rows // 10, rows - ACTORS):
                while not runs.at_least(answers):
                    time.sleep(0.1)
                seen.append(
                    (len(answered(runs.folder)), processor_seconds(running.process.pid))
                )
            ended = running.ended()
        assert ended.code == 0, ended.err
        (first, before), (last, after) = seen
        share = _rate(runs.folder, ACTORS) / (ACTORS / ROW_SECONDS)
        return Cost(share, 1000 * (after - before) / (last - first), 0.0)
    finally:
        nodes.close()


def _rate(folder: Path, places: int) -> float:
    """Rows a second, after the first of each place."""
    files = folder.rglob("journal/*.jsonl")
    times = sorted(
        row["t"]
        for file in files
        for row in map(from_line, file.read_bytes().splitlines())
        if "r" in row
    )
    return float((len(times) - places) / (times[-1] - times[places - 1]))


def _simulated(places: int, each: int, seconds: float) -> Cost:
    return Cost(
        *Fresh("benchmarks.scale.scale_out:simulated", places, each, seconds).result()
    )


def simulated(places: int, each: int, seconds: float) -> Cost:
    """A run whose places have so many rows each, and half as many before, for what a
    start costs."""

    def pool(
        _self: Backends,
        _role: str,
        _backend: object,
        journal: Journal,
        _cluster: object,
    ) -> WorkerPool:
        return WorkerPool(
            [_Sleeper(number, seconds) for number in range(places)], journal
        )

    Backends._pool = pool  # type: ignore[method-assign, assignment]
    spent = []
    for rows in (places * each // 2, places * each):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            began = time.process_time()
            model = BackendSpec(
                "toy", instance=ToyParallel(folder=name, max_batch_size=1)
            )
            outcome = run_toy(folder, task(rows=rows), model=model)
            assert outcome.counts.new == rows, outcome.counts
            spent.append(time.process_time() - began)
            rate = _rate(folder, places)
    return Cost(
        rate / (places / seconds),
        1000 * (spent[1] - spent[0]) / (places * each / 2),
        high_water(),
    )


class _Sleeper:
    """A place that is no process, and answers each row after a while."""

    def __init__(self, number: int, seconds: float) -> None:
        nowhere = Path()
        self._seconds = seconds
        self.job = WorkerJob(
            f"worker {number}", "", {}, "", nowhere, nowhere, nowhere, nowhere, 1
        )
        self.segment = nowhere
        self.open_rows: Mapping[int, BatchRow] = {}

    async def start(self) -> None: ...

    async def answer(
        self, batch: Sequence[BatchRow], told: Callable[[AnswerRow], None]
    ) -> int:
        for position, row in enumerate(batch):
            await asyncio.sleep(self._seconds)
            told(
                AnswerRow(
                    position,
                    reply(asked_text(row.request).replace("question", "answer")),
                    None,
                )
            )
        return 0

    async def end(self) -> None: ...

    def kill(self) -> None: ...
