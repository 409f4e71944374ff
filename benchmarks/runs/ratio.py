"""How fast and how small a run is, as ratios to a bare aiohttp loop measured in the
same minutes.

Both programs are whole processes against the mock server at 50 ms, run in turns; a
ratio is the median of the paired runs. The rate is that of the requests as the server
sees them, from the first request to the last answer; CPU and the time of the first
samples are those of whole processes, start, imports and tables included. mmeval
journals every answer and scores it with two metrics meanwhile. The ratio of whole
processes stands beside the rate: it is the stricter reading of the same goal. A server
that takes 1 s is what users wait for: then the start and the end of a run count, and
the work of a call does not. Memory is the proportional set size (shared pages counted
once) of all its processes together.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.measuring import Figure, Measured, measure
from benchmarks.server import serving

BARE = Path(__file__).with_name("bare.py")
LATENCY, SLOW_LATENCY = 0.05, 1.0
START_AND_END = 1.0
"""The seconds that a whole run may take besides its share of the bare loop's time."""

TASK = """\
task: bench
loader: interleaved
dataset_path: data
metadata: {version: 1.0}
generation_kwargs: {temperature: 1.0, max_gen_toks: 64}
metric_list:
  - metric: strict_structure
  - metric: lenient_structure
"""


def figures(quick: bool) -> Iterator[Figure]:
    count, pairs = (1_000, 1) if quick else (10_000, 5)
    with tempfile.TemporaryDirectory() as folder, serving(LATENCY) as url:
        yield from Bench(Path(folder), url, count=count, pairs=pairs).figures()
    with tempfile.TemporaryDirectory() as folder, serving(SLOW_LATENCY) as url:
        slow_pairs = min(3, pairs)
        yield Bench(Path(folder), url, count=count, pairs=slow_pairs).slow_figure()


class Bench:
    def __init__(self, folder: Path, url: str, *, count: int, pairs: int) -> None:
        self.folder, self.url, self.count, self.pairs = folder, url, count, pairs
        self._runs = 0
        (folder / "data").mkdir()
        (folder / "bench.yaml").write_text(TASK)
        rows = (
            {"id": str(i), "input": f"question {i}: draw it", "reference": "<<image1>>"}
            for i in range(2 * count)
        )
        with (folder / "data" / "test.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def bare(self, connections: int, count: int) -> list[str]:
        rows = str(self.folder / "data" / "test.jsonl")
        return [sys.executable, str(BARE), self.url, str(connections), rows, str(count)]

    def ours(self, connections: int, count: int) -> list[str]:
        self._runs += 1
        return [
            sys.executable,
            "-m",
            "mmeval",
            "--tasks",
            str(self.folder / "bench.yaml"),
            "--model",
            "openai",
            "--model_args",
            f"base_url={self.url},model=m",
            "--max_connections",
            str(connections),
            "--limit",
            str(count),
            "--output_path",
            str(self.folder / f"run{self._runs}"),
        ]

    def paired(self, connections: int, count: int) -> list[tuple[Measured, Measured]]:
        """(bare, ours), in turns, so that a slow minute of the machine hits both."""
        pairs = []
        for _ in range(self.pairs):
            bare = self._asking(self.bare(connections, count))
            ours = self._asking(self.ours(connections, count))
            seen = "; ".join(
                f"{who} {count / one.active:.0f}/s ({one.wall:.2f} s, "
                f"{1000 * one.cpu / count:.2f} ms of CPU a sample)"
                for who, one in (("bare", bare), ("mmeval", ours))
            )
            print(
                f"  {connections} connections, {count} samples: {seen}", file=sys.stderr
            )
            pairs.append((bare, ours))
        return pairs

    def _asking(self, command: Sequence[str]) -> Measured:
        """Run a command that asks the server, and see how long the server was busy with
        it."""
        control = self.url.removesuffix("/v1")
        urlopen(Request(f"{control}/reset", method="POST")).close()
        measured = measure(command)
        with urlopen(f"{control}/stats") as reply:
            return replace(measured, active=json.load(reply)["active_seconds"])

    def figures(self) -> Iterator[Figure]:
        for warm_up in (self.bare(64, 10), self.ours(64, 10)):
            measure(warm_up)
        for connections, goal, whole_goal in ((64, 0.95, 0.91), (256, 0.8, 0.71)):
            pairs = self.paired(connections, self.count)
            ratio = statistics.median(bare.active / ours.active for bare, ours in pairs)
            yield Figure(
                f"rate against the bare loop, {connections} connections",
                ratio,
                goal,
                at_least=True,
            )
            whole = statistics.median(bare.wall / ours.wall for bare, ours in pairs)
            yield Figure(
                f"whole processes against the bare loop, {connections} connections",
                whole,
                whole_goal,
                at_least=True,
            )
            cpu = statistics.median(ours.cpu / bare.cpu for bare, ours in pairs)
            cpu_ms = statistics.median(
                1000 * ours.cpu / self.count for _, ours in pairs
            )
            note = f"{cpu_ms:.2f} ms a sample"
            yield Figure(
                f"CPU to that of the bare loop, {connections} connections",
                cpu,
                2.5,
                "x",
                note=note,
            )
        memory = [
            (
                measure(self.ours(256, self.count), memory=True),
                measure(self.ours(256, 2 * self.count), memory=True),
            )
            for _ in range(min(3, self.pairs))
        ]
        yield Figure(
            "peak memory", max(small.shared for small, _ in memory), 100, " MiB"
        )
        growth = statistics.median(
            1024 * (large.private - small.private) / self.count
            for small, large in memory
        )
        yield Figure("growth a sample", growth, 0.5, " KiB")
        pairs = self.paired(64, 10)
        first = statistics.median(ours.wall / bare.wall for bare, ours in pairs)
        cpu = statistics.median(ours.cpu / bare.cpu for bare, ours in pairs)
        note = (
            f"{statistics.median(ours.wall for _, ours in pairs):.2f} s; {cpu:.1f} "
            "times the CPU"
        )
        yield Figure(
            "first 10 samples against the bare loop", first, 1.8, "x", note=note
        )
        yield Figure("--help against python -c pass (CPU)", self.help_ratio(), 3, "x")

    def slow_figure(self) -> Figure:
        pairs = self.paired(256, self.count)
        whole = [(ours.wall - START_AND_END) / bare.wall for bare, ours in pairs]
        return Figure(
            f"whole processes, less {START_AND_END:g} s, to the bare loop's, a server "
            f"of {SLOW_LATENCY:g} s, 256 connections",
            statistics.median(whole),
            1.05,
            "x",
        )

    def help_ratio(self) -> float:
        def cpu(*arguments: str) -> float:
            return measure([sys.executable, *arguments]).cpu

        return statistics.median(
            cpu("-m", "mmeval", "--help") / cpu("-c", "pass")
            for _ in range(5 * self.pairs)
        )
