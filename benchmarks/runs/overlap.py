"""How far asking and judging overlap: the wall time of a judged run against the longer
of its two halves alone.

The model and the judge are two mock servers in processes of their own. The halves are
whole processes too: a run with ``--predict_only``, and ``mmeval score`` on the folder
that it left. Figures are medians.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import ROOT, Figure
from benchmarks.server import serving
from tests.support.cli import command
from tests.support.questions import toy_environment, write_judged

GOAL = 1.1


@dataclass(frozen=True)
class Side:
    """One of the two servers: seconds that an answer takes, and how many calls it gets
    at once."""

    latency: float
    connections: int

    def __str__(self) -> str:
        return f"{1000 * self.latency:.0f} ms, {self.connections} at once"


CASES = (
    (Side(0.05, 16), Side(0.2, 16)),
    (Side(0.2, 16), Side(0.05, 16)),
    (Side(0.05, 8), Side(0.2, 32)),
    (Side(0.2, 32), Side(0.05, 8)),
)
"""Model and judge. The goal was set for the first; the others show that neither side
holds up the other."""


class Overlap:
    """Measures in one folder, with the toys as plugins."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._runs = folder, 0
        self._tasks = write_judged(folder / "tasks", "judged", range(count))
        self._environment = toy_environment(folder / "site")

    def ratio(self, model: Side, judge: Side) -> tuple[float, float, float]:
        """Seconds of the model alone, of the judge alone, and of both together."""
        with (
            serving(model.latency, "--reply", "answer {key}") as answers,
            serving(judge.latency, "--reply", "yes") as verdicts,
        ):
            asked = [
                "--tasks",
                "judged",
                "--include_path",
                str(self._tasks),
                "--model",
                "openai",
                "--model_args",
                f"base_url={answers},model=m",
                "--max_connections",
                str(model.connections),
            ]
            role = [
                "--role",
                f"judge=openai,base_url={verdicts},model=j,max_connections="
                f"{judge.connections}",
            ]
            alone, together = self._output(), self._output()
            return (
                self._seconds(*asked, *role, "--predict_only", "--output_path", alone),
                self._seconds("score", alone / "m" / "default", *role),
                self._seconds(*asked, *role, "--output_path", together),
            )

    def _output(self) -> Path:
        self._runs += 1
        return self._folder / f"runs{self._runs}"

    def _seconds(self, *arguments: str | Path) -> float:
        started = time.perf_counter()
        done = subprocess.run(
            command(*arguments),
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"mmeval ended with {done.returncode}: {done.stderr}")
        return time.perf_counter() - started


def figures(quick: bool) -> Iterator[Figure]:
    count, rounds = (200, 1) if quick else (600, 3)
    with tempfile.TemporaryDirectory() as folder:
        bench = Overlap(Path(folder), count)
        for model, judge in CASES:
            walls = [bench.ratio(model, judge) for _ in range(rounds)]
            asking, judging, together = (
                statistics.median(wall[part] for wall in walls) for part in range(3)
            )
            ratio = statistics.median(
                both / max(one, other) for one, other, both in walls
            )
            note = (
                f"{asking:.1f} s and {judging:.1f} s alone, {together:.1f} s together"
            )
            yield Figure(f"model {model}; judge {judge}", ratio, GOAL, note=note)
