"""How fast and how small a run is, as ratios to a bare aiohttp loop measured in the same minutes.

    python benchmarks/ratio.py            # about ten minutes; the table of docs/performance.md
    python benchmarks/ratio.py --quick    # fewer samples: a look, not a figure

Both programs are whole processes against the mock server at 50 ms, run in turns; a ratio is the median of the paired
runs. The rate is that of the requests as the server sees them, from the first request to the last answer; CPU and the
time of the first samples are those of whole processes, start, imports and tables included. mmeval journals every answer
and scores it with two metrics meanwhile. The ratio of whole processes stands beside the rate: it is the stricter
reading of the same goal. Memory is the proportional set size (shared pages counted once) of all its processes together.
Exit code 1 when a figure misses its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figure import Figure  # noqa: E402
from benchmarks.server import serving  # noqa: E402  found by the line above

BARE = ROOT / "benchmarks" / "bare.py"
LATENCY = 0.05

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


@dataclass(frozen=True)
class Measured:
    """One process tree: seconds of wall time and of CPU, seconds that the server was busy with it, peak memory in MiB
    (0: not sampled); ``private`` counts only the pages that no other process on the machine shares."""

    wall: float
    cpu: float
    active: float = 0.0
    peak: float = 0.0
    private: float = 0.0


def measure(command: Sequence[str], *, memory: bool = False) -> Measured:
    """Run a command to its end. Raises RuntimeError with its stderr when it fails."""
    env = {**os.environ, "OPENAI_API_KEY": "bench", "HF_HUB_OFFLINE": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its byte code
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        peak = _Peak(process.pid) if memory else None
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(command[:4])} ... ended with {process.returncode}: {errors.read().decode()}")
    proportional, private = peak.stop() if peak else (0.0, 0.0)
    return Measured(wall, usage.ru_utime + usage.ru_stime, peak=proportional, private=private)


class _Peak:
    """Samples the memory of a process and its children: proportional set size and private dirty pages, in MiB."""

    def __init__(self, pid: int) -> None:
        self._pid, self._top, self._done = pid, [0.0, 0.0], threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> tuple[float, float]:
        self._done.set()
        self._thread.join()
        return (self._top[0], self._top[1])

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            # A set: a child between vfork and exec has its parent's very memory, which must not count twice.
            sizes = [_memory(rollup) for rollup in {_rollup(pid) for pid in _family(self._pid)}]
            for kind in range(2):
                self._top[kind] = max(self._top[kind], sum(size[kind] for size in sizes))


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


def _memory(rollup: str) -> tuple[float, float]:
    kib = {line.split(":")[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    return (kib.get("Pss", 0) / 1024, kib.get("Private_Dirty", 0) / 1024)


class Bench:
    def __init__(self, folder: Path, url: str, *, count: int, pairs: int) -> None:
        self.folder, self.url, self.count, self.pairs = folder, url, count, pairs
        self._runs = 0
        (folder / "data").mkdir()
        (folder / "bench.yaml").write_text(TASK)
        rows = ({"id": str(i), "input": f"question {i}: draw it", "reference": "<<image1>>"} for i in range(2 * count))
        with (folder / "data" / "test.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def bare(self, connections: int, count: int) -> list[str]:
        rows = str(self.folder / "data" / "test.jsonl")
        return [sys.executable, str(BARE), self.url, str(connections), rows, str(count)]

    def ours(self, connections: int, count: int) -> list[str]:
        self._runs += 1
        return [
            *(sys.executable, "-m", "mmeval", "--tasks", str(self.folder / "bench.yaml"), "--model", "openai"),
            *("--model_args", f"base_url={self.url},model=m", "--max_connections", str(connections)),
            *("--limit", str(count), "--output_path", str(self.folder / f"run{self._runs}")),
        ]

    def paired(self, connections: int, count: int) -> list[tuple[Measured, Measured]]:
        """(bare, ours), in turns, so that a slow minute of the machine hits both."""
        pairs = []
        for _ in range(self.pairs):
            bare = self._asking(self.bare(connections, count))
            ours = self._asking(self.ours(connections, count))
            seen = "; ".join(
                f"{who} {count / one.active:.0f}/s ({one.wall:.2f} s, {1000 * one.cpu / count:.2f} ms of CPU a sample)"
                for who, one in (("bare", bare), ("mmeval", ours))
            )
            print(f"  {connections} connections, {count} samples: {seen}", file=sys.stderr)
            pairs.append((bare, ours))
        return pairs

    def _asking(self, command: Sequence[str]) -> Measured:
        """Run a command that asks the server, and see how long the server was busy with it."""
        control = self.url.removesuffix("/v1")
        urlopen(Request(f"{control}/reset", method="POST")).close()
        measured = measure(command)
        with urlopen(f"{control}/stats") as reply:
            return replace(measured, active=json.load(reply)["active_seconds"])

    def figures(self) -> Iterator[Figure]:
        for warm_up in (self.bare(64, 10), self.ours(64, 10)):
            measure(warm_up)
        for connections, goal in ((64, 0.95), (256, 0.8)):
            pairs = self.paired(connections, self.count)
            ratio = statistics.median(bare.active / ours.active for bare, ours in pairs)
            yield Figure(f"rate against the bare loop, {connections} connections", ratio, goal, at_least=True)
            whole = statistics.median(bare.wall / ours.wall for bare, ours in pairs)
            yield Figure(
                f"whole processes against the bare loop, {connections} connections", whole, goal, at_least=True
            )
            cpu = statistics.median(1000 * ours.cpu / self.count for _, ours in pairs)
            yield Figure(f"CPU a sample, {connections} connections", cpu, 0.4, " ms")
        memory = [
            (measure(self.ours(256, self.count), memory=True), measure(self.ours(256, 2 * self.count), memory=True))
            for _ in range(min(3, self.pairs))
        ]
        yield Figure(f"peak memory, {self.count:,} samples", max(small.peak for small, _ in memory), 100, " MiB")
        growth = statistics.median(1024 * (large.private - small.private) / self.count for small, large in memory)
        yield Figure("growth a sample", growth, 0.5, " KiB")
        first = statistics.median(ours.wall / bare.wall for bare, ours in self.paired(64, 10))
        yield Figure("first 10 samples against the bare loop", first, 2.5, "x")
        yield Figure("--help against python -c pass (CPU)", self.help_ratio(), 5, "x")

    def help_ratio(self) -> float:
        def cpu(*arguments: str) -> float:
            return measure([sys.executable, *arguments]).cpu

        return statistics.median(cpu("-m", "mmeval", "--help") / cpu("-c", "pass") for _ in range(5 * self.pairs))


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 samples and one pair: a look, not a figure")
    parser.add_argument("--pairs", type=int, default=5, help="paired runs a figure (5)")
    parser.add_argument("--count", type=int, default=10_000, help="samples a run (10,000)")
    args = parser.parse_args(argv)
    count, pairs = (1_000, 1) if args.quick else (args.count, args.pairs)
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, serving(LATENCY) as url:
        figures = []
        for figure in Bench(Path(folder), url, count=count, pairs=pairs).figures():
            report(figure.row())
            figures.append(figure)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
