"""What the end of a run over all of UniM costs: seconds and peak memory of its numbers, its tables and its report.

    python benchmarks/unim_layout.py           # the goals are for all 31,026 instances
    python benchmarks/unim_layout.py 3000      # fewer

The run folder is made here: a question with its labels, an answer, eight numbers, in part lost or
unsupported, and what seven metrics say of the answer's items. Then two
commands: the numbers of the task with all breakdowns, the results file, the table and the paper's tables; and ``mmeval
report``. Memory is the peak resident set of the larger of both. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figure import Figure
from benchmarks.scale import ROOT, measure
from mmeval.metric.contract import metric
from mmeval.records.trial import Trial
from mmeval.report.layout_text import markdown_tables
from mmeval.report.results_file import write_results
from mmeval.report.table import render
from mmeval.results.layout import load_layout
from mmeval.results.stored_run import StoredRun
from mmeval.results.task_results import TaskNumbers, task_results
from mmeval.settings.report_options import ReportContext
from mmeval.tasks.unim.tables.items import TITLES
from mmeval.tasks.unim.tables.pool import NUMBERS
from tests.support.outcomes import outcome, task
from tests.support.stored_run import SCORE_SET, Told, text, write_run
from tests.support.unim_scores import BREAKDOWN, SAMPLES, random_trials, with_items

SECONDS, MIB = 15.0, 500.0
TASK = "unim_all"
OUTPUTS = (*NUMBERS, *TITLES)
_WORDS = "what is to be seen in it, and what is to be heard? " * 6


@metric(range=(0, 1), version="1", source="made for the benchmark", outputs=OUTPUTS)
def numbers(_trial: Trial) -> float:
    """Stands for metrics whose scores are there already."""
    return 0.0


def told(row: dict[str, Any]) -> Told:
    """A score row as a trial of a run folder."""
    return Told(
        asked=[text(f"question {row['s']}: {_WORDS}")],
        answer=None if row["status"] != "ok" else [text(f"answer {row['s']}: {_WORDS}")],
        scores=row["scores"],
        sample=row["s"],
        references=[[text(f"reference {row['s']}: {_WORDS}")]],
        metadata=row["labels"],
        labels=row["labels"],
        error=row.get("error"),
    )


def end(folder: Path) -> Iterator[tuple[str, float]]:
    """The end of a run whose trials are all scored, step by step, each with its seconds."""
    whole = replace(task(TASK, metric=numbers), breakdown=BREAKDOWN)
    whole = replace(whole, config={"task": TASK, "loader": "unim", "layout": "unim", "breakdown": list(BREAKDOWN)})
    started = time.perf_counter()
    results = task_results(TaskNumbers.of(whole), folder / "scores" / TASK / SCORE_SET, lambda _index, _repeat: True)
    yield f"{len(results)} numbers", time.perf_counter() - started
    started = time.perf_counter()
    made = outcome(folder, *results, tasks=(whole,), score_sets={TASK: Path(SCORE_SET)})
    context = ReportContext("none")
    document = json.loads(write_results(made, context, moment=datetime.now()).read_bytes())
    sys.stdout.write(render(document, made.selection, context))
    yield "results file and table", time.perf_counter() - started
    started = time.perf_counter()
    sys.stdout.write(markdown_tables(load_layout("unim")(StoredRun(folder))))
    yield "the paper's tables", time.perf_counter() - started


def figures(count: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        config = {"loader": "unim", "layout": "unim", "breakdown": list(BREAKDOWN)}
        run = write_run(Path(name) / "run", map(told, with_items(random_trials(count))), task=TASK, config=config)
        ended = measure([sys.executable, "-m", "benchmarks.unim_layout", "--end", str(run)], ROOT)
        reported = measure([sys.executable, "-m", "mmeval", "report", str(run)], Path(name))
    yield Figure(f"numbers and tables of {count:,} instances", ended.seconds, SECONDS, " s")
    yield Figure("their report", reported.seconds, SECONDS, " s")
    yield Figure("both", ended.seconds + reported.seconds, SECONDS, " s")
    yield Figure("their peak memory", max(ended.peak, reported.peak), MIB, " MiB")


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="?", type=int, default=SAMPLES, help="how many instances (all)")
    parser.add_argument("--end", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.end is not None:
        for step, seconds in end(args.end):
            sys.stderr.write(f"{step}: {seconds:.2f} s\n")
        return 0
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    missed = 0
    for figure in figures(args.instances):
        report(figure.row())
        missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
