"""The format ``isg_graph``: a data file with the questions that a model wrote.

    {"id": "0000", "Category": "Prediction", "Query": [...], "Golden": [...], "predict": {...}}

``ISG-Bench.jsonl`` contains the rows of the data with the written questions as
``predict``. Together with the data's pictures this file is a data set. Further answers
to a row are in ``ISG-Bench_repeat1.jsonl`` and so on.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange import (
    AnsweredRun,
    AnswerFormat,
    ExportFolder,
    ExportSummary,
    ScoredTrial,
)
from mmeval.metric.judge import strict_json
from mmeval.metrics.judged.isg.rows import CATEGORY, GRAPH
from mmeval.records import Sample
from mmeval.system import from_line, to_line
from mmeval.tasks.isg.loader import FILE, ROW

REPEAT = "ISG-Bench_repeat{}.jsonl"
GAPS = {"without": "without questions, so not written"}
NOTES = {"repeats": f"second and later answers to a row, in {REPEAT.format('<n>')}"}


def write_questions(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model.

    Raises the errors of :meth:`ExportFolder.fill`, and UsageError for a run without
    questions.
    """
    return _QuestionsFolder(folder).fill(run)


class _QuestionsFolder(ExportFolder):
    """Collects the rows of each repeat and writes one file per repeat."""

    benchmark = "isg_graph"
    entry = "line"
    unanswered = "no line"
    gaps = GAPS
    notes = NOTES

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows: dict[int, list[dict[str, Any]]] = {}

    def takes(self, sample: Sample) -> bool:
        return ROW in sample.metadata

    def add(self, scored: ScoredTrial) -> None:
        trial, sample = scored.trial, scored.trial.sample
        predict = None if trial.output is None else strict_json(trial.output.text)
        if isinstance(predict, dict):
            columns = {
                "id": sample.id,
                "Category": sample.metadata[CATEGORY],
                **sample.metadata[ROW],
            }
            # Models write NaN, which becomes null in JSON.
            row = from_line(to_line({**columns, GRAPH: predict}))
            self._rows.setdefault(trial.repeat, []).append(row)
        elif trial.output is not None:
            self.counts["without"] += 1
            return
        self.mmeval_fields(trial)

    def finish(self) -> Sequence[str]:
        if not self._rows:
            raise UsageError("nothing to export: no answer of isg_graph has questions")
        for repeat, rows in self._rows.items():
            self.write_lines(REPEAT.format(repeat) if repeat else FILE, rows)
        return ()


FORMAT = AnswerFormat(
    about="The questions that a model wrote for ISG-Bench (isg_graph), as a data file.",
    write=write_questions,
)
