"""Writes a report into a new folder, which then replaces the old folder. Only a trial's
row of the index is kept in memory."""

from __future__ import annotations

import logging
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mmeval._version import __version__
from mmeval.errors import StorageError, UsageError
from mmeval.findings.finding import Finding
from mmeval.findings.render import RemedyTarget
from mmeval.report.baseline import Baseline, ShownBaseline, baseline_of_run
from mmeval.report.charts import Chart, charts_of
from mmeval.report.charts.chosen import ranges_of
from mmeval.report.headline import headline_rows
from mmeval.report.page import details as trial_details
from mmeval.report.page import summary
from mmeval.report.page.absent import not_computed
from mmeval.report.page.answers import three_answers
from mmeval.report.page.chunks import Chunks, script
from mmeval.report.page.code import Colours
from mmeval.report.page.headlines import headline_gauges
from mmeval.report.page.index import (
    CHUNK,
    TEXT_CHUNK,
    TILE_CHUNK,
    Index,
    labels_of,
    searched,
)
from mmeval.report.page.parts import PartWriter
from mmeval.report.page.pivot import cautions_of, pivot_tables
from mmeval.report.page.places import Places
from mmeval.report.page.previews import Previews
from mmeval.report.page.prompts import prompt_rows
from mmeval.report.page.shell import chart_rows, run_rows, write_shell
from mmeval.report.page.tiles import tile
from mmeval.results.compare import metrics_of
from mmeval.results.layout import layouts_of
from mmeval.results.numbers import NumberRow, ResultsDocument, number_rows
from mmeval.results.stored_run import StoredRun, StoredTask, StoredTrial
from mmeval.store.paths import TrialFilter, every_trial
from mmeval.store.run_folder import journal_findings
from mmeval.system.folders import replaced

log = logging.getLogger(__name__)

PREVIEW_SECONDS = 20.0
"""The time limit for making previews at the end of a run, in seconds."""
MOST_CHARTS = 40
"""The largest number of charts on a page. Further charts are only written as files."""
CHARTS, TABLES = "charts", "tables"
"""Folders of a report for other formats. These folders are kept when the page is
rewritten."""
_ENTRIES = frozenset({"index.html", "assets", "data", "media", CHARTS, TABLES})
_DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    RecursionError,
    UsageError,
)
"""The errors that can be raised when a damaged or foreign row of a trial is read."""


@dataclass(frozen=True)
class WrittenPage:
    """A report's page. ``left_over`` counts the previews that were not made in time.
    ``damaged`` counts the damaged lines of trials. ``unread`` are the findings of
    journals that lack an answer."""

    page: Path
    left_over: int
    damaged: int
    unread: Sequence[Finding] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about trials and previews that the page does not show."""
        damaged = Finding(
            "damaged",
            count=self.damaged,
            cause="trials are not shown, as their records cannot be read "
            "(--verbosity DEBUG logs the reasons)",
        )
        not_drawn = Finding(
            "budget",
            count=self.left_over,
            cause="pictures, documents, sounds or meshes are not drawn within the "
            "time limit",
            remedy="mmeval report {RUN}",
            severity="note",
        )
        return tuple(finding for finding in (damaged, not_drawn) if finding.count)


def write_report(
    runs: Sequence[Path],
    folder: Path,
    *,
    copy_media: bool = False,
    with_prompts: bool = False,
    preview_seconds: float | None = None,
    results: Path | None = None,
    baseline: Baseline | None = None,
) -> WrittenPage:
    """Write the report of runs into ``folder`` and replace a report there.

    ``preview_seconds`` limits the time for drawing SVG, documents, sounds and meshes
    (None: no limit). ``results`` is the results file of a single run, if it is not the
    newest in its folder. ``baseline`` is shown with the numbers of a single run; the
    default is the baseline of its settings. ``with_prompts`` adds the texts of released
    prompts. Raises MissingDataError if there is no run,
    UsageError for a damaged run or a folder that contains something else, and
    StorageError if the report cannot be written.
    """
    folder = folder.resolve()
    with ExitStack() as stack:
        stored = [StoredRun(run, results) for run in runs]
        for run in stored:
            stack.callback(run.close)
        with new_report(folder) as new:
            writer = PageWriter(
                new,
                folder,
                preview_seconds=preview_seconds,
                copy_media=copy_media,
                with_prompts=with_prompts,
                baseline=baseline,
            )
            writer.write(stored, datetime.now())
            for name in (CHARTS, TABLES):
                if (folder / name).is_dir():
                    shutil.copytree(folder / name, new / name)
    return writer.written


@contextmanager
def new_report(folder: Path, again: str = "mmeval report") -> Iterator[Path]:
    """Yields a new folder that replaces the report in ``folder`` once it is complete.
    Raises UsageError for a folder that contains something else, and StorageError if the
    report cannot be written."""
    check_replaceable(folder)
    try:
        with replaced(folder) as new:
            yield new
    except FileNotFoundError as error:
        raise StorageError(
            f"{folder}: the report was not written, as {error.filename} disappeared "
            "while the run was being "
            f"changed; run {again} again"
        ) from None
    except OSError as error:
        raise StorageError(
            f"{folder}: the report cannot be written ({error.strerror or error}); free "
            "space, or choose another folder with --output_path"
        ) from None


def check_replaceable(folder: Path) -> None:
    """Raises UsageError for a folder that contains anything except a report."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose a folder for the report")
    names = {entry.name for entry in folder.iterdir()}
    has_page = (folder / "data" / "index.js").is_file()
    if not has_page:
        names -= {CHARTS, TABLES}
    if names - _ENTRIES or (names and not has_page):
        raise UsageError(
            f"{folder} contains files that are not a report; choose another folder"
        )


class PageWriter:
    """Writes the data of a page: the full trials of runs, and the index of trials."""

    def __init__(
        self,
        new: Path,
        folder: Path,
        *,
        preview_seconds: float | None,
        copy_media: bool,
        baseline: Baseline | None,
        with_prompts: bool = False,
    ) -> None:
        self._new = new
        self._folder = folder
        self._copy = copy_media
        self._with_prompts = with_prompts
        self._baseline = baseline
        data = new / "data"
        data.mkdir()
        self.index = Index()
        self.previews = Previews(new, folder, seconds=preview_seconds)
        self.damaged = 0
        self.unread: list[Finding] = []
        self._lacks_answer = False
        self._colours = Colours()
        self._details = Chunks(data, "details", CHUNK, before=self._colours.fill)
        self._texts = Chunks(data, "text", TEXT_CHUNK)
        self._tiles = Chunks(data, "tiles", TILE_CHUNK)

    @property
    def written(self) -> WrittenPage:
        """The written page. It is complete after ``finish``."""
        page = self._folder / "index.html"
        return WrittenPage(page, self.previews.left_over, self.damaged, self.unread)

    def write(self, runs: Sequence[StoredRun], now: datetime) -> None:
        for run in runs:
            self.write_run(run)
        names = names_of(runs) if len(runs) > 1 else [runs[0].model]
        documents: list[ResultsDocument] = [run.results for run in runs]
        if not any(summary.compares(run) for run in runs):
            # the first sentence states that no number is comparable, so rows do not
            # repeat it
            for position, document in enumerate(documents):
                if document:
                    ours = {**document["mmeval"], "not_comparable": []}
                    documents[position] = {**document, "mmeval": ours}
        rows = number_rows(documents, names)
        index = self.finish(now, rows)
        (self._new / "data" / "index.js").write_bytes(script("index", index))
        context = self._context(runs, names, rows)
        context["answers"] = three_answers(index, self._details.item)
        context["made"] = now.strftime("%Y-%m-%d %H:%M:%S")
        write_shell(self._new, context)

    def finish(self, now: datetime, rows: Sequence[NumberRow]) -> dict[str, Any]:
        """Write the last chunks, and return the index. Its headlines come from
        ``rows``."""
        self._details.flush()
        self._texts.flush()
        self._tiles.flush()
        of_trials = [row for row in rows if self.index.has_scores(row)]
        headlines = {row.task: row.metric for row in headline_rows(of_trials)}
        moment = now.isoformat(timespec="seconds")
        return self.index.to_json(
            created=moment, version=__version__, headlines=headlines
        )

    def write_run(
        self,
        run: StoredRun,
        requested: Callable[[str], TrialFilter] = lambda _: every_trial,
    ) -> None:
        """Write the requested trials of each task of a run."""
        self._lacks_answer = False
        self.index.begin_run(run)
        places = Places(run.folder, self._folder, self._new, copy=self._copy)
        parts = PartWriter(places, self.previews, self._colours)
        for task in run.tasks:
            self.index.begin_task(task, run.ours)
            # by metric, the number that shows its verdicts
            outputs: dict[str, str] = {}
            for name, metric in metrics_of(run.ours, task.name).items():
                outputs[name] = (metric.get("outputs") or [name])[0]
            for trial in task.trials(requested(task.name)):
                try:
                    if trial is None:
                        raise ValueError("its lines are damaged")
                    self._write_trial(trial, task, run, parts, outputs)
                except _DAMAGE:
                    log.debug("a trial of %s cannot be shown", task.name, exc_info=True)
                    self.damaged += 1
        if self._lacks_answer:
            self.unread += journal_findings(run.journal, run.record)

    def _write_trial(
        self,
        trial: StoredTrial,
        task: StoredTask,
        run: StoredRun,
        parts: PartWriter,
        outputs: dict[str, str],
    ) -> None:
        exchanges = trial_details.exchanges(trial, run.journal)
        output = trial_details.output_of(trial, exchanges)
        error = trial_details.error_of(trial, output)
        self._lacks_answer |= error is trial_details.GONE
        labels = labels_of(trial, task)
        full = trial_details.details(
            trial,
            exchanges,
            output,
            labels,
            outputs=outputs,
            journal=run.journal,
            writer=parts,
        )
        text = searched(trial, output, error)
        small = tile(output, full["output"], full["error"], parts.waveform)
        self.index.add(trial, output, error, labels)
        self._details.add(full)
        self._texts.add(text)
        self._tiles.add(small)

    def _context(
        self,
        runs: Sequence[StoredRun],
        names: Sequence[str],
        rows: Sequence[NumberRow],
    ) -> dict[str, Any]:
        documents = [run.results for run in runs]
        uncounted = self.index.uncounted > 0
        ranges = ranges_of(documents)
        labels: Sequence[str] = [""]
        title, shown_baseline = runs[0].name, ShownBaseline()
        if len(runs) > 1:
            labels, title = names, f"{len(runs)} runs"
        else:
            shown_baseline = baseline_of_run(runs[0], self._baseline)
        layouts, layout_notes = _layouts(runs, labels)
        slices = number_rows(documents, names, every_slice=True, repeats=False)
        charts = charts_of(slices, names, ranges)
        summaries = []
        prompts: list[dict[str, Any]] = []
        for number, (run, name) in enumerate(zip(runs, labels, strict=True)):
            tally = self.index.tally(number)
            words = summary.lead(run, tally, self.index.sample_counts(number))
            notes = summary.notes(run)
            summaries.append({"name": name, "lead": words, "notes": notes})
            prompts += prompt_rows(run, name, with_released=self._with_prompts)
        findings = self._findings(charts, runs)
        place = RemedyTarget(run=shlex.join(str(run.folder) for run in runs))
        notes = [*shown_baseline.notes, *layout_notes]
        notes += summary.in_words(findings, place)
        gauges = []
        if len(runs) == 1:
            gauges = headline_gauges(
                headline_rows(rows),
                ranges,
                uncounted=uncounted,
                baseline=shown_baseline.column,
            )
        missing = [row for row in rows if row.metric and not row.is_known]
        folder = shlex.quote(str(runs[0].folder))
        absent = not_computed(rows, documents, uncounted=uncounted, run=folder)
        return {
            "title": title,
            "mmeval": __version__,
            "runs": run_rows(runs),
            "summary": summaries,
            "notes": notes,
            "headlines": gauges,
            "missing": len(missing),
            "absent": absent,
            "pivots": pivot_tables(
                rows,
                names,
                cautions=cautions_of(documents),
                uncounted=uncounted,
                baseline=shown_baseline.column,
            ),
            "layouts": layouts,
            "prompts": prompts,
            "plots": [],
            "charts": chart_rows(charts[:MOST_CHARTS]),
            "count": self.index.count,
        }

    def _findings(
        self, charts: Sequence[Chart], runs: Sequence[StoredRun]
    ) -> Iterator[Finding]:
        """Yields the findings about the page itself."""
        if self.index.uncounted:
            yield Finding(
                "subset",
                count=self.index.uncounted,
                cause="trials of an earlier command do not count in the numbers; their "
                "status is: uncounted",
                severity="note",
            )
        yield from reversed(self.written.findings)
        hidden = len(charts[MOST_CHARTS:])
        if hidden:
            folders = [str(run.folder) for run in runs]
            yield Finding(
                "subset",
                count=hidden,
                cause="charts are not on this page",
                remedy=shlex.join(["mmeval", "report", *folders, "--format", "svg"]),
                severity="note",
            )


def names_of(runs: Sequence[StoredRun]) -> list[str]:
    """Returns names that distinguish the runs: their models' names, if these differ."""
    models = [run.model for run in runs]
    if len(set(models)) == len(models):
        return models
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    return [str(run.folder) for run in runs]


def _layouts(
    runs: Sequence[StoredRun], labels: Sequence[str]
) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Returns the tables of the papers that the runs name, and notes about them."""
    if not any(run.results and layouts_of(run) for run in runs):
        return (), ()
    # imported late, since few runs name a paper's tables
    from mmeval.report.page.layout_tables import layout_tables

    return layout_tables(list(zip(runs, labels, strict=True)))
