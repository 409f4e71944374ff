"""Prints one table of what mmeval costs: every figure beside its goal.

    make bench                                   # all of them: 45 minutes
    python -m benchmarks --quick                 # fewer samples: a look, not a figure
    python -m benchmarks ratio scale             # some, by name
    python -m benchmarks --json before.json      # keeps the figures ...
    python -m benchmarks --against before.json   # ... beside those of another commit

Each benchmark is a module of benchmarks/runs/, reports/, scale/ or statistics/ with a
function ``figures(quick)``, run in a process of its own. The exit code is 1 when a
figure misses its goal or a benchmark fails. The column ``others`` has the processors
that other programs took while a figure was made: most goals are of ratios and of
processor time, but a machine whose processors are all taken is slower in these, too.
The figures of statistics/ are shares of simulated evaluations, or of all that there
can be.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.measuring import ROOT, Figure, Others

RUNS = ("ratio", "listing", "local_models", "agents", "handshake", "scale")
REPORTS = ("report", "report_page", "rating_page")
SCALE = ("merging", "scale_out")
STATISTICS = (
    "coverage",
    "right_or_wrong",
    "comparisons",
    "ranks",
    "corrections",
    "bridges",
    "audits",
    "sequences",
)
BENCHMARKS = {
    name: folder
    for folder, names in (
        ("runs", RUNS),
        ("reports", REPORTS),
        ("scale", SCALE),
        ("statistics", STATISTICS),
    )
    for name in names
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*BENCHMARKS, []],
        metavar="NAME",
        help=", ".join(BENCHMARKS),
    )
    parser.add_argument("--quick", action="store_true", help="fewer samples and pairs")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures there, too"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="figures of --json to print beside these",
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.one:
        return _print_figures(asked.one, asked.quick)
    before = json.loads(asked.against.read_text()) if asked.against else {}
    head = "| benchmark | figure | measured | goal | met | others |" + (
        " before |" if before else ""
    )
    print(head, "|" + "---|" * (head.count("|") - 1), sep="\n")
    made: dict[str, list[Figure]] = {}
    others = Others()
    failed = False
    for name in asked.names or BENCHMARKS:
        command = [
            sys.executable,
            "-m",
            "benchmarks",
            "--one",
            name,
            *(["--quick"] if asked.quick else []),
        ]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                figure = Figure(**json.loads(line))
                made.setdefault(name, []).append(figure)
                print(
                    row(
                        name,
                        figure,
                        others.cores(),
                        before.get(name, {}) if before else None,
                    ),
                    flush=True,
                )
        if process.returncode:
            print(f"{name} ended with {process.returncode}", file=sys.stderr)
        failed |= process.returncode != 0 or not all(
            figure.met for figure in made.get(name, [])
        )
    if asked.json:
        found = {
            name: {figure.name: figure.value for figure in figures}
            for name, figures in made.items()
        }
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


def row(
    benchmark: str, figure: Figure, others: float, before: Mapping[str, float] | None
) -> str:
    """A row of the Markdown table; None: the table has no column of earlier figures."""
    goal = (
        ""
        if figure.goal is None
        else f"{'≥' if figure.at_least else '≤'} {figure.goal:g}{figure.unit}"
    )
    met = "" if figure.goal is None else "yes" if figure.met else "NO"
    cells = [
        benchmark,
        figure.name + (f" ({figure.note})" if figure.note else ""),
        _shown(figure.value) + figure.unit,
        goal,
        met,
        f"{others:.1f}",
    ]
    if before is not None:
        cells.append(
            _shown(before[figure.name]) + figure.unit if figure.name in before else ""
        )
    return f"| {' | '.join(cells)} |"


def _shown(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _print_figures(name: str, quick: bool) -> int:
    for figure in importlib.import_module(
        f"benchmarks.{BENCHMARKS[name]}.{name}"
    ).figures(quick):
        print(json.dumps(asdict(figure)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
