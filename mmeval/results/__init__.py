"""Reads the numbers of stored runs and published ones, and loads layouts that arrange
them in a paper's tables."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.results.layout import (
        Cell,
        Table,
        judge_names,
        paper_notes,
        result_of,
        scores_of,
    )
    from mmeval.results.published import NumberKey, TableNumber
    from mmeval.results.stored_run import StoredRun, StoredTask, counted_by

__all__ = [
    "Cell",
    "NumberKey",
    "StoredRun",
    "StoredTask",
    "Table",
    "TableNumber",
    "counted_by",
    "judge_names",
    "paper_notes",
    "result_of",
    "scores_of",
]

__getattr__, __dir__ = door(__name__)
