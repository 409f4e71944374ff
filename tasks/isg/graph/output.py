"""The format ``isg_graph``: the questions that a model has written, as a file of data.

    {"id": "0000", "Category": "Prediction", "Query": [...], "Golden": [...], "predict": {...}}

``ISG-Bench.jsonl`` has the rows of the data with the written questions as ``predict``; beside the pictures of the data
it is a data set. Further answers to the same row are in ``ISG-Bench_repeat1.jsonl`` and so on.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange import AnsweredRun, AnswerFormat, Exported
from mmeval.judge import strict_json
from mmeval.metrics.judged.isg.rows import CATEGORY, GRAPH
from mmeval.system import to_line
from mmeval.tasks.isg.loader import FILE, ROW
from mmeval.wording import counted

REPEAT = "ISG-Bench_repeat{}.jsonl"


def write_questions(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model. Raises UsageError for a run without written questions."""
    lines: dict[int, list[dict[str, Any]]] = {}
    counts: Counter[str] = Counter()
    foreign: list[str] = []
    for task in run.tasks:
        for one in task.scored():
            sample, trial = one.trial.sample, one.trial
            if ROW not in sample.metadata and not sample.fault:
                foreign.append(task.name)
                break
            predict = strict_json("" if trial.output is None else trial.output.text)
            if not isinstance(predict, dict):
                counts["without"] += 1
                continue
            head = {"id": sample.id, "Category": sample.metadata[CATEGORY], **sample.metadata[ROW]}
            lines.setdefault(trial.repeat, []).append({**head, GRAPH: predict})
    if not lines:
        raise UsageError("nothing of this run has a place in the layout: no answer of isg_graph has questions")
    for repeat, rows in lines.items():
        with (folder / (REPEAT.format(repeat) if repeat else FILE)).open("wb") as file:
            file.writelines(to_line(row) + b"\n" for row in rows)  # models write NaN, which becomes null
    gaps = [f"{name} writes no questions, and was left out" for name in foreign]
    if counts["without"]:
        gaps.append(f"{counted(counts['without'], 'answer')}: without questions; no line")
    return Exported(sum(map(len, lines.values())), 0, tuple(gaps), ())


FORMAT = AnswerFormat(
    about="The questions that models have written for ISG-Bench (isg_graph), as a file of its data.",
    write=write_questions,
)
