"""What the end of a run over all of UniM costs: seconds and peak memory of its numbers, its tables and its report.

The run folder is made here: a question with its labels, an answer, eight numbers, in part lost or
unsupported, and what seven metrics say of the answer's items. Then two
commands: the numbers of the task with all breakdowns, the results file, the table and the paper's tables; and ``mmeval
report``. Memory is the peak resident set of the larger of both.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, measure
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


def figures(quick: bool) -> Iterator[Figure]:
    count = 3_000 if quick else SAMPLES
    with tempfile.TemporaryDirectory() as name:
        config = {"loader": "unim", "layout": "unim", "breakdown": list(BREAKDOWN)}
        run = write_run(Path(name) / "run", map(told, with_items(random_trials(count))), task=TASK, config=config)
        ended = measure([sys.executable, "-m", "benchmarks.runs.unim_layout", str(run)])
        reported = measure([sys.executable, "-m", "mmeval", "report", str(run)], Path(name))
    yield Figure(f"numbers and tables of {count:,} instances", ended.wall, SECONDS, " s")
    yield Figure("their report", reported.wall, SECONDS, " s")
    yield Figure("both", ended.wall + reported.wall, SECONDS, " s")
    yield Figure("their peak memory", max(ended.peak, reported.peak), MIB, " MiB")


def end(folder: Path) -> None:
    """The end of a run whose trials are all scored."""
    whole = replace(task(TASK, metric=numbers), breakdown=BREAKDOWN)
    whole = replace(whole, config={"task": TASK, "loader": "unim", "layout": "unim", "breakdown": list(BREAKDOWN)})
    results = task_results(TaskNumbers.of(whole), folder / "scores" / TASK / SCORE_SET, lambda _index, _repeat: True)
    made = outcome(folder, *results, tasks=(whole,), score_sets={TASK: Path(SCORE_SET)})
    context = ReportContext("none")
    document = json.loads(write_results(made, context, moment=datetime.now()).read_bytes())
    sys.stdout.write(render(document, made.selection, context))
    sys.stdout.write(markdown_tables(load_layout("unim")(StoredRun(folder))))


if __name__ == "__main__":
    end(Path(sys.argv[1]))
