"""How far asking and judging overlap: the wall time of a judged run against the longer of its two halves alone.

    python benchmarks/overlap.py            # about two minutes; the table of docs/reliability.md
    python benchmarks/overlap.py --quick    # fewer samples: a look, not a figure

The model and the judge are two mock servers in processes of their own. The halves are whole processes too: a run with
``--predict_only``, and ``mmeval score`` on the folder that it left. Figures are medians. Exit code 1 when one misses
its goal.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.server import serving  # noqa: E402  found by the line above
from tests.support.cli import command  # noqa: E402  found by the line above
from tests.support.toy_site import toy_environment, write_judged  # noqa: E402

GOAL = 1.1


@dataclass(frozen=True)
class Side:
    """One of the two servers: seconds that an answer takes, and how many calls it gets at once."""

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
"""Model and judge. The goal was set for the first; the others show that neither side holds up the other."""


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
                *("--tasks", "judged", "--include_path", str(self._tasks), "--model", "openai"),
                *("--model_args", f"base_url={answers},model=m", "--max_connections", str(model.connections)),
            ]
            role = ["--role", f"judge=openai,base_url={verdicts},model=j,max_connections={judge.connections}"]
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
        done = subprocess.run(command(*arguments), env=self._environment, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"mmeval ended with {done.returncode}: {done.stderr}")
        return time.perf_counter() - started


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 samples, each case once: a look, not a figure")
    parser.add_argument("--rounds", type=int, default=3, help="times that each case is measured (3)")
    parser.add_argument("--count", type=int, default=600, help="samples a run (600)")
    args = parser.parse_args(argv)
    count, rounds = (200, 1) if args.quick else (args.count, args.rounds)
    report("| model | judge | model alone | judge alone | together | against the longer | goal | met |")
    report("|---|---|---|---|---|---|---|---|")
    met = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Overlap(Path(folder), count)
        for model, judge in CASES:
            walls = [bench.ratio(model, judge) for _ in range(rounds)]
            asking, judging, together = (statistics.median(wall[part] for wall in walls) for part in range(3))
            ratio = statistics.median(both / max(one, other) for one, other, both in walls)
            met &= ratio <= GOAL
            seconds = f"{asking:.1f} s | {judging:.1f} s | {together:.1f} s"
            said = "yes" if ratio <= GOAL else "NO"
            report(f"| {model} | {judge} | {seconds} | {ratio:.2f} | at most {GOAL} | {said} |")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
