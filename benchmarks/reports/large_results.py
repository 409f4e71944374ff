"""The end of a large run: score rows become numbers, a table and a results file.

python -m benchmarks.reports.large_results FOLDER

reads rows.jsonl there: rows of six metrics, labels as in ``BREAKDOWN``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from mmeval.metric.bound import bind
from mmeval.metric.contract import metric
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.records.trial import Trial
from mmeval.report.results_file import write_results
from mmeval.report.table import render
from mmeval.results.task_results import TaskNumbers, task_results
from mmeval.settings.report_options import ReportContext
from tests.support.outcomes import outcome, task

OUTPUTS = ("right", "met", "clear", "near", "short", "middle")
BREAKDOWN = ("domain", "level", "cell")


@metric(
    range=(0, 1), version="1", source="made for the benchmark", outputs=OUTPUTS[:-1]
)
def five(_trial: Trial) -> float:
    """Stands for metrics whose scores are there already."""
    return 0.0


@metric(
    range=(0, 1), version="1", source="made for the benchmark", outputs=OUTPUTS[-1:]
)
def middle(_trial: Trial) -> float:
    """One whose median is reported, so that it is bootstrapped."""
    return 0.0


def main(folder: Path) -> None:
    large = task("large", metric=five)
    (first,) = large.metrics
    metrics = (first, replace(first, bound=bind(middle), aggregation="median"))
    large = replace(large, metrics=metrics, breakdown=BREAKDOWN)
    scores = ScoreSet(folder, "large", {"outputs": OUTPUTS})
    scores.add((folder / "rows.jsonl").read_bytes())
    scores.finish()
    results = task_results(
        TaskNumbers.of(large), scores.folder, lambda _index, _repeat: True
    )
    made = outcome(folder, *results, tasks=(large,))
    context = ReportContext("none")
    document = json.loads(
        write_results(made, context, moment=datetime.now()).read_bytes()
    )
    sys.stdout.write(render(document, made.selection, context))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
