"""Publishes results at the end of a run: files, page, tables and loggers."""

from __future__ import annotations

import importlib
import json
import logging
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mmeval.errors import Interrupted
from mmeval.findings.finding import Finding
from mmeval.findings.render import RemedyTarget
from mmeval.report.baseline import Baseline, ShownBaseline, read_baseline
from mmeval.report.closing_lines import last_lines
from mmeval.report.loggers.contract import Logger, create_loggers, log_results
from mmeval.report.results_file import PublishedResults, file_time, write_results
from mmeval.report.samples_file import sample_rows, write_samples
from mmeval.report.short_table import short_table
from mmeval.report.table import render
from mmeval.report.terminal import columns, write_line
from mmeval.results.corrected import with_corrected
from mmeval.run.availability import log_findings
from mmeval.run.costs.bill import spent_words
from mmeval.run.kept.outcome import keep_outcome
from mmeval.run.options import PublishedFiles, RunOutcome
from mmeval.run.outcome import last_line
from mmeval.settings.report_options import ReportContext
from mmeval.store.paths import every_trial
from mmeval.system.wording import file_name

FOLDER = "report"
"""The name of the report folder in a run folder."""

_OF_PAGE = ("mmeval.report.page", "jinja2")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Publication:
    """The outputs to make from the results of a run. They are prepared before the run,
    so that a wrong name is reported at the start and not at the end."""

    loggers: Mapping[str, Logger]
    baseline: Baseline | None
    log_samples: bool
    page: bool
    table: str
    """The form of the table: short, full or none."""
    moment: datetime = field(default_factory=datetime.now)

    @classmethod
    def prepared(
        cls,
        loggers: Mapping[str, Mapping[str, Any]],
        baseline: Path | None,
        *,
        log_samples: bool,
        page: bool,
        table: str,
        recorded: Baseline | None = None,
    ) -> Publication:
        """Create loggers by name and arguments, and read ``baseline``. Without a
        baseline, the ``recorded`` baseline is used. Raises the errors of the loggers
        and of ``read_baseline``."""
        other = recorded if baseline is None else read_baseline(baseline)
        return cls(create_loggers(loggers), other, log_samples, page, table)

    def import_page(self) -> None:
        """Imports the modules that write the page, if a page is requested.

        This takes a part of a second, so it is done while answers are awaited.
        """
        if self.page:
            for module in _OF_PAGE:
                importlib.import_module(module)

    def finish(
        self,
        outcome: RunOutcome,
        context: ReportContext,
        *,
        show: Callable[[str], None] | None = None,
    ) -> PublishedResults:
        """Write a run's files and page (if requested), show its tables, and call its
        loggers. The short table ends with the paths of the files; otherwise the paths
        are logged."""
        form = self.table
        ends_with_places = show is not None and form == "short"
        published = publish(
            outcome,
            context,
            moment=self.moment,
            log_samples=self.log_samples,
            baseline=self.baseline,
            table=form,
            shown=outcome.table_findings if ends_with_places else (),
        )
        if not ends_with_places:
            log.info("results: %s", published.file)
        if show is not None:
            show(published.table)
            selection = outcome.selection
            layouts = [member.layout for member in (*selection, *selection.groups)]
            if form == "full" and any(layouts):
                # imported late, since few runs print the tables of a paper
                from mmeval.report.layouts.made import layouts_at_end

                show(layouts_at_end(outcome.folder, published.file))
        log_results(self.loggers, outcome, published)
        earlier = outcome.published
        page = None if earlier is None else earlier.page
        if self.page and page is None:
            page = write_at_end(outcome.folder, published.file, baseline=self.baseline)
        if page is not None and not ends_with_places:
            log.info("report: %s", page)
        if show is not None:
            if ends_with_places:
                lines = last_lines(
                    outcome, context, results=published.file, page=page, width=columns()
                )
                show(lines)
            line = last_line(outcome)
            if line:
                write_line(line)
        if earlier is None and self._is_repeatable(outcome, context):
            keep_outcome(outcome, PublishedFiles(published.file, page))
        return published

    def _is_repeatable(self, outcome: RunOutcome, context: ReportContext) -> bool:
        """Returns True if the same command would publish the same files again.

        A baseline may have changed, samples files are written by each session, and a
        logger may read the trials.
        """
        writes_more = self.log_samples or context.folder is not None
        reads_more = self.baseline is not None or bool(self.loggers)
        return outcome.seal is not None and not writes_more and not reads_more


def publish(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    moment: datetime,
    log_samples: bool = False,
    baseline: Baseline | None = None,
    table: str = "short",
    shown: Collection[Finding] = (),
) -> PublishedResults:
    """Write the results file and (if requested) the samples files. Returns their
    content and the table.

    The numbers of ``baseline`` are only in the table. The findings of the run and of
    the baseline are logged, except those that the caller has ``shown``.
    """
    folder = context.folder or outcome.folder
    hashes: dict[str, str] = {}
    samples: dict[str, Path] = {}
    earlier = outcome.published
    for task in outcome.selection if log_samples else ():
        chosen = outcome.chosen.get(task.name, every_trial)
        score_set = outcome.score_sets.get(task.name)
        rows = sample_rows(outcome.folder, task, score_set, chosen)
        name = f"samples_{file_name(task.name)}_{file_time(moment)}.jsonl"
        samples[task.name] = folder / name
        hashes[task.name] = write_samples(folder / name, rows)
    if earlier is None:
        written = write_results(outcome, context, moment=moment, task_hashes=hashes)
    else:
        written = earlier.results
    document = with_corrected(json.loads(written.read_bytes()), outcome.folder)
    other = ShownBaseline() if baseline is None else baseline.shown_with(document)
    findings = [finding for finding in outcome.findings if finding not in shown]
    _log_findings("of this run:", [*findings, *other.findings], outcome.folder)
    if any(bill.spent.tokens or bill.usd for bill in outcome.bills):
        log.info("spent in this run folder: %s", spent_words(outcome.bills))
    text = ""
    if table == "short":
        text = short_table(document, outcome, baseline=other.column, width=columns())
    elif table == "full":
        text = render(
            document,
            outcome.selection,
            context,
            roles=outcome.roles,
            baseline=other.column,
        )
    return PublishedResults(text, written, document, samples)


def _log_findings(
    title: str, findings: Sequence[Finding], run: Path, level: int = logging.WARNING
) -> None:
    place = RemedyTarget(run=shlex.quote(str(run)))
    log_findings(title, findings, place, width=columns(), level=level)


def end_of_shard(
    outcome: RunOutcome, shard: str, *, show: Callable[[str], None]
) -> None:
    """Show the trial counts of a shard, which has no results, and log its findings."""
    # findings about numbers are stated with the numbers of the whole run
    shown = outcome.table_findings
    findings = [finding for finding in outcome.findings if finding not in shown]
    _log_findings("of this run:", findings, outcome.folder)
    counts, run = outcome.counts, outcome.folder.parent.parent
    show(
        f"shard {shard}: {counts.kept:,} trials kept, {counts.new:,} new, "
        f"{counts.failed:,} failed, "
        f"{counts.unsupported:,} not asked, {counts.unscored:,} unscored\n"
        f"results: mmeval merge {shlex.quote(str(run))}, when all shards are done\n"
    )
    line = last_line(outcome)
    if line:
        write_line(line)


def write_at_end(
    run: Path, results: Path, *, baseline: Baseline | None = None
) -> Path | None:
    """Write the report of a run whose results were just written, and return its page.

    The numbers of ``baseline`` are shown too. If that fails, one warning with the
    command that writes the report later is logged. Raises Interrupted after Ctrl-C; the
    results are kept.
    """
    later = f"mmeval report {shlex.quote(str(run))} writes it"
    try:
        from mmeval.report.page import PREVIEW_SECONDS, write_report

        written = write_report(
            [run],
            run / FOLDER,
            preview_seconds=PREVIEW_SECONDS,
            results=results,
            baseline=baseline,
        )
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped while the report was written; the results are kept, and {later}"
        ) from None
    # plugins and the disk may raise anything; the results are written already
    except (Exception, SystemExit) as error:
        log.debug("the report failed", exc_info=error)
        reason = str(error) or type(error).__name__
        log.warning("the report was not written (%s); %s", reason, later)
        return None
    level = logging.WARNING if written.damaged else logging.INFO
    _log_findings("of the page:", written.findings, run, level)
    return run / FOLDER / written.page.name
