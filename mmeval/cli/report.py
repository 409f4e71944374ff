"""Write the page of a run, its tables or its charts from its folder.

    mmeval report runs/my-model/default
    mmeval report runs/my-model/default --format markdown
    mmeval report A=runs/a/default B=runs/b/default --layout NAME --format latex

RUN is the folder of a run, <output_path>/<model>/<run_id>. The page shows the numbers
with their uncertainty and counts, and every sample with its answers, scores and judge
replies. It opens from disk, without a server. Several runs make one page with their
numbers side by side. With --layout, they are the rows of a paper's tables.

The exit code is 3 if something could not be shown: a page has damaged records, or a run
has no numbers for a table or a chart.
"""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval.cli.layout_tables import (
    FIGURE_FORMATS,
    LayoutCommand,
    board_of,
    write_layouts,
)
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError, did_you_mean
from mmeval.findings.render import RemedyTarget, markdown_lines, terminal_lines
from mmeval.report.layouts.engine import GIVEN
from mmeval.report.layouts.writers import FORMATS as LAYOUT_FORMATS
from mmeval.report.markdown import cell
from mmeval.report.table_formats import TABLES
from mmeval.report.terminal import print_text
from mmeval.results.board import folders_of
from mmeval.results.numbers import number_rows
from mmeval.results.provenance import skipped_metrics_note
from mmeval.results.stored_run import StoredRun, run_folder
from mmeval.run.availability import words_for
from mmeval.settings import values
from mmeval.system.folders import write_atomic
from mmeval.system.wording import file_names

FORMATS: tuple[str, ...] = ("html", "markdown", "latex", "csv", "svg", "png")

log = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="[NAME=]RUN",
        help="the folder of a run, or a board file with runs; with --layout also a "
        "results file, and NAME is the name of its row",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        metavar="FOLDER",
        default="",
        help="folder of the report and of table files (RUN/report; ./report for "
        "several runs)",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default=None,
        help="html: the page; markdown, latex, csv: the numbers, which are printed if "
        "--output_path is not set; svg, png: chart files; separate several by commas "
        "(html; markdown with --layout)",
    )
    parser.add_argument(
        "--layout",
        metavar="NAME",
        default="",
        help="print the tables of a paper instead, as markdown, text, latex, csv or "
        "html, or its figures as svg or png; separate several by commas ('mmeval ls "
        "layouts' lists them)",
    )
    parser.add_argument(
        "--published",
        metavar="FILE",
        action="append",
        default=[],
        help="with --layout: add rows of published numbers from a CSV file; may be "
        "repeated",
    )
    parser.add_argument(
        "--board",
        metavar="FILE",
        default="",
        help="with --layout: the rows of a board file (YAML), before those of the "
        "command",
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        default=None,
        help="with --layout: order the rows by a column, the best first (given: the "
        "order of the command)",
    )
    parser.add_argument(
        "--copy_media",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=False,
        help="copy all media into the report, so that it can be shared (false)",
    )
    parser.add_argument(
        "--with_prompts",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=False,
        help="show the texts of released prompts on the page; their licences may not "
        "allow you to share it (false)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the requested formats. Prints tables, or the paths of the written files.

    Returns EXIT_INCOMPLETE if something in the runs could not be shown.
    """
    formats = _formats(args)
    into = Path(args.output_path).expanduser() if args.output_path else None
    if args.layout:
        command = LayoutCommand(
            values.words(args.layout), formats, into, args.sort or GIVEN
        )
        board = board_of(args.folders, args.published, args.board)
        return EXIT_OK if write_layouts(command, board) else EXIT_INCOMPLETE
    for flag in ("published", "board", "sort"):
        if getattr(args, flag):
            raise UsageError(f"--{flag} needs --layout", name=flag)
    if not args.folders:
        raise UsageError("name the folder of a run (see 'mmeval report --help')")
    folders: list[Path] = []
    for argument in args.folders:
        folders += map(run_folder, folders_of(Path(argument)))
    for folder in folders:
        for note in skipped_metrics_note(StoredRun(folder)):
            log.warning("%s", note)
    whole = True
    report = into
    if report is None:
        is_single = len(folders) == 1
        report = folders[0] / "report" if is_single else Path("report")
    if "html" in formats:
        from mmeval.report.page import write_report

        page = write_report(
            folders,
            report,
            copy_media=values.switch(args.copy_media),
            with_prompts=values.switch(args.with_prompts),
        )
        lines = terminal_lines([*page.findings, *page.unread])
        if lines:
            log.warning("%s", "\n".join(["of the page:", *lines]))
        print_text(f"{report / page.page.name}\n")
        whole = not (page.damaged or page.unread)
    others = [name for name in formats if name != "html"]
    if others:
        whole &= _write_numbers(folders, report, others, print_tables=into is None)
    return EXIT_OK if whole else EXIT_INCOMPLETE


def _formats(args: argparse.Namespace) -> tuple[str, ...]:
    """Returns the requested formats, or the default.

    Raises UsageError for an unknown format.
    """
    known = FORMATS
    choices = f"--format must be one of {', '.join(FORMATS)}"
    if args.layout:
        known = (*LAYOUT_FORMATS, *FIGURE_FORMATS)
        choices = f"with --layout, --format must be one of {', '.join(known)}"
    if args.format is None:
        return known[:1]
    formats = values.words(args.format)
    for name in formats:
        if name not in known:
            raise UsageError(f"{choices}, not {name!r}{did_you_mean(name, known)}")
    if not formats:
        raise UsageError(f"{choices}, not empty")
    return formats


def _write_numbers(
    folders: Sequence[Path], report: Path, formats: Sequence[str], *, print_tables: bool
) -> bool:
    """Writes tables and charts. Returns True if every run has numbers in them."""
    from mmeval.report.page import writer

    runs = [StoredRun(folder) for folder in folders]
    without_numbers = [run for run in runs if not run.ours.get("results")]
    if not any(run.results for run in runs):
        raise UsageError(_no_results(runs[0].folder))
    for run in without_numbers:
        if run.results:
            log.warning("the results of %s contain no numbers", run.folder)
        else:
            log.warning("%s; its column is empty", _no_results(run.folder))
    writer.check_replaceable(report)
    names = writer.names_of(runs)
    documents = [run.results for run in runs]
    for name in formats:
        if name in TABLES:
            table = TABLES[name]
            rows = number_rows(documents, names, every_slice=table.every_slice)
            text = table.render(rows, names)
            if name == "markdown":
                text += _findings_below(runs, names)
            file = report / writer.TABLES / table.file
            _print_or_write(text, None if print_tables else file)
        else:
            for file in _write_charts(runs, name, report / writer.CHARTS):
                print_text(f"{file}\n")
    return not without_numbers


def _findings_below(runs: Sequence[StoredRun], names: Sequence[str]) -> str:
    """Returns the findings of each run, which are printed below the tables of all
    runs."""
    lines: list[str] = []
    for run, name in zip(runs, names, strict=True):
        settings = run.ours.get("settings", {})
        tasks = words_for(settings, run.ours.get("metrics", {}))
        place = RemedyTarget(tasks, shlex.quote(str(run.folder)))
        finding_lines = markdown_lines(run.findings, place)
        if finding_lines and len(runs) > 1:
            lines += ["", f"{cell(name)}:"]
        if finding_lines:
            lines += ["", *finding_lines]
    return "".join(f"{line}\n" for line in lines)


def _no_results(folder: Path) -> str:
    return (
        f"{folder} has no results yet: mmeval score {shlex.quote(str(folder))} scores "
        "the existing trials, and the command that started the run continues it"
    )


def _print_or_write(text: str, file: Path | None) -> None:
    """Prints a text, or writes it to a file and prints the path."""
    if file is None:
        print_text(text)
        return
    write_atomic(file, text.encode("utf-8", "replace"))
    print_text(f"{file}\n")


def _write_charts(
    runs: Sequence[StoredRun],
    form: str,
    into: Path,
) -> Iterator[Path]:
    from mmeval.report import charts
    from mmeval.report.charts.chosen import ranges_of
    from mmeval.report.charts.series import MOST_SERIES
    from mmeval.report.page import writer

    names = writer.names_of(runs)[:MOST_SERIES]
    notes = []
    if len(runs) > MOST_SERIES:
        notes.append(f"The first {MOST_SERIES} of {len(runs)} runs.")
        log.warning(
            "the charts show the first %d of %d runs; --format csv writes all",
            MOST_SERIES,
            len(runs),
        )
    documents = [run.results for run in runs[:MOST_SERIES]]
    rows = number_rows(documents, names, every_slice=True, repeats=False)
    all_charts = charts.charts_of(rows, names, ranges_of(documents))
    if not all_charts:
        log.warning("there is nothing to draw: no task has two numbers")
    files = file_names(chart.name for chart in all_charts)
    for chart, name in zip(all_charts, files, strict=True):
        file = into / f"{name}.{form}"
        if chart.cut:
            log.warning("%s shows %s; --format csv writes all", file, chart.cut)
        drawing = chart.draw()
        if notes:
            drawing = drawing.captioned((), notes)
        write_atomic(file, charts.written(drawing, form))
        yield file
