"""The end of ``run`` and ``score``: files into the run folder, tables as text."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from mmeval.options import RunOutcome
from mmeval.report.context import ReportContext
from mmeval.report.results_file import file_time, write_results
from mmeval.report.samples_file import write_samples
from mmeval.report.table import render
from mmeval.report.trials import Wanted, sample_rows
from mmeval.runfolder import file_name

_logger = logging.getLogger(__name__)


def publish(
    outcome: RunOutcome, context: ReportContext, *, moment: datetime, wanted: Mapping[str, Wanted] | None
) -> str:
    """Write the results file and return the tables.

    ``wanted`` says which trials of each task go into samples files; None writes none. What keeps the exit code from
    being 0 goes to the log, one warning each.
    """
    folder = context.folder or outcome.folder
    hashes: dict[str, str] = {}
    if wanted is not None:
        for task in outcome.selection:
            rows = sample_rows(outcome.folder, task, outcome.score_sets.get(task.name), wanted[task.name])
            file = folder / f"samples_{file_name(task.name)}_{file_time(moment)}.jsonl"
            hashes[task.name] = write_samples(file, rows)
    written = write_results(outcome, context, moment=moment, task_hashes=hashes)
    for complaint in outcome.complaints:
        _logger.warning(complaint)
    _logger.info("results: %s", written)
    return render(outcome.results, outcome.group_results, outcome.selection, context)
