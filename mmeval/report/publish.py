"""The end of a run, of ``score`` and of ``mmeval.evaluate``: files into the run folder, tables as text."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mmeval.costs.bill import spent_words
from mmeval.errors import Interrupted
from mmeval.report.baseline import Baseline, Beside
from mmeval.report.results_file import file_time, write_results
from mmeval.report.samples_file import Wanted, sample_rows, write_samples
from mmeval.report.table import render
from mmeval.run.options import RunOutcome
from mmeval.scoring.verdict_log import version_warnings
from mmeval.settings.report_options import ReportContext
from mmeval.wording import file_name

log = logging.getLogger(__name__)
FOLDER = "report"
"""Where the report of a run lies, in its folder."""

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
    document = json.loads(written.read_bytes())
    beside = Beside() if baseline is None else baseline.beside(document)
    remarks = (*beside.unlike, *beside.notes)
    for complaint in (*outcome.complaints, *version_warnings(outcome.judges), *remarks, *outcome.notes):
        if complaint != outcome.error:  # that one is the last line of all
            _logger.warning(complaint)
    if any(bill.spent.tokens or bill.usd for bill in outcome.bills):
        _logger.info("spent in this run folder: %s", spent_words(outcome.bills))
    _logger.info("results: %s", written)
    tables = render(document, outcome.selection, context, roles=outcome.roles, baseline=beside.column)
    return Published(tables, written, document, samples)


def write_at_end(run: Path, results: Path, *, baseline: Baseline | None = None) -> None:
    """Write the report of a run whose results file was just written, and say where it is. The numbers of ``baseline``
    stand beside its own.

    A report that cannot be written is one warning with the command that makes it later. Raises Interrupted after
    Ctrl-C, which takes nothing of the results.
    """
    later = f"mmeval report {shlex.quote(str(run))} makes it"
    try:
        from mmeval.report.page import PREVIEW_SECONDS, write_report

        made = write_report([run], run / FOLDER, preview_seconds=PREVIEW_SECONDS, results=results, baseline=baseline)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped while the report was written; the results are kept, and {later}") from None
    except Exception as error:  # the results are there already, whatever it is
        log.debug("the report failed", exc_info=True)
        log.warning("the report was not written (%s); %s", _said(error), later)
        return
    if made.damage:
        log.warning("%s; mmeval report %s --verbosity DEBUG says why", made.damage, shlex.quote(str(run)))
    if made.left_over:
        log.info("%d pictures, documents or meshes were not drawn for lack of time; %s", made.left_over, later)
    log.info("report: %s", run / FOLDER / made.page.name)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


@dataclass(frozen=True)
class Published:
    """``document`` is the content of the results file, as JSON values; ``samples`` are the samples files by task, empty
    where none were wanted."""

    table: str
    file: Path
    document: Mapping[str, Any]
    samples: Mapping[str, Path] = field(default_factory=dict)
