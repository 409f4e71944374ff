"""What an agent costs besides its models: ten dependent calls an answer, as ratios to
bare loops that ask the same.

The rate is that of the calls, as the server sees them or by the journal's times; CPU
and memory are those of whole processes, those of a call being their growth from n
answers to 2n. CPU is measured twice, as the same instructions take longer in a process
that waits in between, whose caches other work has emptied.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import ROOT, Figure, Measured, measure
from benchmarks.runs.local_models import LocalBench, Model
from benchmarks.runs.ratio import LATENCY, TASK, Bench
from benchmarks.server import serving
from tests.support.models import tiny_model
from tests.support.task_folder import write_distribution

CALLS = 10
CONNECTIONS = 64
AT_ONCE = 0.002
"""Seconds after which a server answers that keeps both programs at work all the
time."""


def figures(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_distribution(
            folder,
            "chain",
            "[mmeval.model_backends]\nchain = benchmarks.runs.chain:chain\n",
        )
        os.environ["PYTHONPATH"] = f"{folder}:{ROOT}"
        count, pairs = (200, 1) if quick else (1_000, 5)
        with serving(LATENCY) as url:
            yield from ServerBench(folder, url, count=count, pairs=pairs).figures()
        (at_work := folder / "at_work").mkdir()
        with serving(AT_ONCE) as url:
            bench = ServerBench(at_work, url, count=count, pairs=pairs)
            yield bench.cpu(
                "CPU a call, never waiting", bench.paired(CONNECTIONS, count)
            )
        model = Model(Path(tiny_model("llm")))
        (local := folder / "local").mkdir()
        yield AgentOfLocal(local, model, pairs=1 if quick else 3).figure(
            32 if quick else 64
        )


class ServerBench(Bench):
    """The agent and a bare loop in turns."""

    def __init__(self, folder: Path, url: str, *, count: int, pairs: int) -> None:
        self.folder, self.url, self.count, self.pairs = folder, url, count, pairs
        self._runs = 0
        (folder / "data").mkdir()
        (folder / "bench.yaml").write_text(TASK)
        with (folder / "data" / "test.jsonl").open("w") as file:
            for row in range(2 * count):
                asked = [
                    {"role": "user", "content": f"question {row}, step {call}"}
                    for call in range(CALLS)
                ]
                file.write(
                    json.dumps(
                        {"id": str(row), "input": asked, "reference": "<<image1>>"}
                    )
                    + "\n"
                )

    def ours(self, connections: int, count: int) -> list[str]:
        self._runs += 1
        planner = (
            f"openai,base_url={self.url},model=m,gen.temperature=1.0,gen.max_tokens=64"
        )
        return [
            sys.executable,
            "-m",
            "mmeval",
            "--tasks",
            str(self.folder / "bench.yaml"),
            "--model",
            "chain",
            "--role",
            f"planner={planner}",
            "--max_connections",
            str(connections),
            "--report",
            "false",
            "--limit",
            str(count),
            "--output_path",
            str(self.folder / f"run{self._runs}"),
        ]

    def figures(self) -> Iterator[Figure]:
        for warm_up in (self.bare(CONNECTIONS, 10), self.ours(CONNECTIONS, 10)):
            measure(warm_up)
        pairs = self.paired(CONNECTIONS, self.count)
        rate = statistics.median(bare.active / ours.active for bare, ours in pairs)
        yield Figure(
            f"rate of calls, {CONNECTIONS} connections", rate, 0.95, at_least=True
        )
        yield self.cpu("CPU a call", pairs)
        calls = self.count * CALLS
        sizes = [
            measure(self.ours(CONNECTIONS, count), memory=True).private
            for count in (self.count, 2 * self.count)
        ]
        yield Figure(
            "growth of memory a call", 1024 * (sizes[1] - sizes[0]) / calls, 1, " KiB"
        )
        run = self.folder / f"run{self._runs}"
        written = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
        yield Figure(
            "size of the run folder a call", written / 1024 / (2 * calls), 1, " KiB"
        )

    def cpu(self, name: str, pairs: list[tuple[Measured, Measured]]) -> Figure:
        calls = self.count * CALLS
        more = [measure(self.ours(CONNECTIONS, 2 * self.count)) for _ in pairs]
        cpu = statistics.median(
            1000 * (large.cpu - small.cpu) / calls
            for (_, small), large in zip(pairs, more, strict=True)
        )
        bare = statistics.median(1000 * one.cpu / calls for one, _ in pairs)
        return Figure(
            name,
            cpu,
            0.4,
            " ms",
            note=f"of the bare loop, start included: {bare:.2f} ms",
        )


class AgentOfLocal(LocalBench):
    """The agent with a local planner, beside the bare loop."""

    # ten turns of more are longer than the model reads
    words, tokens = ("how many? ", 64)

    def figure(self, trials: int) -> Figure:
        name = f"{trials} answers of {CALLS} calls of a local planner"
        return Figure(name, self._ratio(trials, CALLS), 0.8, at_least=True)

    def _task(self, count: int, turns: int, *, tokens: int | None = None) -> str:
        name = super()._task(count, turns, tokens=tokens)
        file = self._folder / f"{name}.yaml"
        file.write_text(
            file.read_text().replace("protocol: episode", "protocol: single")
        )
        return name

    def _command(
        self, name: str, output: Path, *flags: str, workers: int = 1
    ) -> list[str]:
        planner = (
            f"hf,pretrained={self._model.folder},dtype={self._model.dtype},device="
            f"{self._model.device}"
        )
        return [
            sys.executable,
            "-m",
            "mmeval",
            "--tasks",
            str(self._folder / f"{name}.yaml"),
            "--model",
            "chain",
            "--model_args",
            "history=true",
            "--role",
            f"planner={planner},gen.temperature=0,gen.max_tokens={self.tokens}",
            "--output_path",
            str(output),
            *flags,
        ]
