"""The end of a run, of ``score`` and of ``mmeval.evaluate``: files into the run folder, tables as text."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from mmeval.costs.bill import spent_words
from mmeval.report.baseline import Baseline, Column
from mmeval.report.published import Published
from mmeval.report.results_file import file_time, write_results
from mmeval.report.samples_file import write_samples
from mmeval.report.table import render
from mmeval.report.trials import Wanted, sample_rows
from mmeval.run.options import RunOutcome
from mmeval.scoring.verdict_log import version_warnings
from mmeval.settings.report_options import ReportContext
from mmeval.wording import file_name

_logger = logging.getLogger(__name__)


def publish(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    moment: datetime,
    wanted: Mapping[str, Wanted] | None,
    baseline: Baseline | None = None,
) -> Published:
    """Write the results file and the samples files, and return what they hold, with the tables.

    ``wanted`` says which trials of each task go into samples files; None writes none. The numbers of ``baseline`` stand
    in the tables alone. What keeps the exit code from being 0, what of a baseline does not compare, and notes on the
    answers go to the log, one warning each.
    """
    folder = context.folder or outcome.folder
    hashes: dict[str, str] = {}
    samples: dict[str, Path] = {}
    if wanted is not None:
        for task in outcome.selection:
            rows = sample_rows(outcome.folder, task, outcome.score_sets.get(task.name), wanted[task.name])
            samples[task.name] = folder / f"samples_{file_name(task.name)}_{file_time(moment)}.jsonl"
            hashes[task.name] = write_samples(samples[task.name], rows)
    written = write_results(outcome, context, moment=moment, task_hashes=hashes)
    column, unlike = _column(baseline, outcome)
    for complaint in (*outcome.complaints, *version_warnings(outcome.judges), *unlike, *outcome.notes):
        if complaint != outcome.error:  # that one is the last line of all
            _logger.warning(complaint)
    if any(bill.spent.tokens or bill.usd for bill in outcome.bills):
        _logger.info("spent in this run folder: %s", spent_words(outcome.bills))
    _logger.info("results: %s", written)
    tables = render(
        outcome.results,
        outcome.group_results,
        outcome.selection,
        context,
        subsets=outcome.subsets,
        unfinished=outcome.unfinished,
        roles=outcome.roles,
        baseline=column,
    )
    return Published(tables, written, json.loads(written.read_bytes()), samples)


def _column(baseline: Baseline | None, outcome: RunOutcome) -> tuple[Column | None, list[str]]:
    return (None, []) if baseline is None else baseline.beside(outcome)
