"""What a report of many trials costs: seconds and peak memory of ``mmeval report``.

    python benchmarks/report.py           # both sizes
    python benchmarks/report.py 10000     # one of them

Each run folder is made here: a question, an answer with code in every tenth, two metrics, labels, and a judge's reply
for every fifth trial. Memory is the peak resident set of the command's process. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figure import Figure
from benchmarks.scale import measure
from tests.support.stored_run import Told, text, write_run

GOALS = {10_000: (1.5, 400.0), 50_000: (8.0, 400.0)}
"""By trials, the seconds and MiB that a report may take."""
_CODE = "```python\ndef area(width, height):\n    return width * height  # in metres\n```"
_WORDS = "what is to be seen in it, and what is to be heard? " * 6


def told(number: int) -> Told:
    """A trial among many."""
    answer = [text(f"answer {number}: {_WORDS}")]
    if number % 10 == 0:
        answer.append({"type": "code", "text": _CODE, "raw": "<<code1>>", "label": "code1"})
    verdicts = [{"metric": "near", "role": "judge", "asked": "j", "parts": [text('{"grade": 3}')]}]
    failed = {"kind": "timeout", "message": "no answer in 60 s"} if number % 100 == 99 else None
    scores = {
        "right": {"value": float(number % 3 > 0), "status": "scored", "evidence": {"wanted": "a", "found": "b"}},
        "near": {"value": number % 7 / 6, "status": "scored", "evidence": {"grade": number % 7, "of": 6}},
    }
    return Told(
        asked=[text(f"question {number}: {_WORDS}")],
        answer=None if failed else answer,
        scores={} if failed else scores,
        references=[[text(f"reference {number}")]],
        metadata={"domain": f"domain {number % 30}", "level": number % 3},
        labels={"domain": f"domain {number % 30}", "level": number % 3},
        error=failed,
        verdicts=verdicts if number % 5 == 0 and not failed else [],
    )


def figures(count: int) -> Iterator[Figure]:
    seconds, peak = GOALS.get(count, (0.0, 0.0))
    with tempfile.TemporaryDirectory() as name:
        run = write_run(Path(name) / "run", map(told, range(count)), results={})
        found = measure([sys.executable, "-m", "mmeval", "report", str(run)], Path(name))
        size = sum(file.stat().st_size for file in (run / "report").rglob("*") if file.is_file()) / 2**20
    yield Figure(f"a report of {count:,} trials ({size:,.0f} MiB)", found.seconds, seconds, " s")
    yield Figure("its peak memory", found.peak, peak, " MiB")


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="*", type=int, help="how many trials (both sizes)")
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    missed = 0
    for count in parser.parse_args(argv).trials or GOALS:
        for figure in figures(count):
            report(figure.row())
            missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
