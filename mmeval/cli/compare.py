"""Compare runs from their folders: is a difference real, how small a one would have
been seen, where does it lie.

The first RUN is the reference; a difference is another run's value minus its. Trials
are paired by sample and by what was asked. Nothing is asked, and the runs are not
changed.

The exit code is 3 where something that was asked for cannot be compared, 5 where a gate
(--fail_if_worse, --fail_unless_within, --fail_unless_equal) is shut.
"""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import EXIT_OK, UsageError, did_you_mean
from mmeval.findings.render import terminal_lines
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values

if TYPE_CHECKING:
    from mmeval.comparison.compare import Comparison

log = logging.getLogger(__name__)

FORMATS = ("text", "json", "markdown", "latex", "csv")
OPTIONS = (
    "metrics",
    "tasks",
    "by",
    "across",
    "correction",
    "alpha",
    "power",
    "detect",
    "fail_if_worse",
    "fail_unless_within",
    "fail_unless_equal",
    "failed",
    "simultaneous",
)
"""The flags that are arguments of ``mmeval.compare``."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="RUN",
        help="the folder of a run; the first is the reference. NAME=RUN,RUN are runs "
        "of one model that count as its repeats",
    )
    for name, shown, text in (
        (
            "metrics",
            "METRIC",
            "numbers to compare, separated by commas, or all (the first one of each "
            "task and group)",
        ),
        ("tasks", "TASK", "tasks and groups to compare, separated by commas (all)"),
        (
            "across",
            "ASPECT",
            "judge, definition, protocol, prompts: compare although this differs",
        ),
    ):
        parser.add_argument(
            f"--{name}",
            metavar=shown,
            action="append",
            default=[],
            help=f"{text}; may be repeated",
        )
    parser.add_argument(
        "--by",
        metavar="LABEL",
        default="",
        help="also by the values of a label of the samples",
    )
    parser.add_argument(
        "--correction",
        metavar="NAME",
        default="holm",
        help="for several tests: holm, bh (false discoveries) or none (holm)",
    )
    parser.add_argument(
        "--simultaneous",
        action="store_true",
        help="wider intervals, of which all hold together in 95 %%",
    )
    for name, default, text in (
        ("alpha", 0.05, "false alarms that are tolerated (0.05)"),
        ("power", 0.8, "with which the smallest difference would have been seen (0.8)"),
        ("detect", None, "also say how many samples it takes to see this difference"),
        (
            "fail_unless_within",
            None,
            "end with 5 unless a run is shown to be no worse than this margin",
        ),
        (
            "fail_unless_equal",
            None,
            "end with 5 unless a run is shown to be neither worse nor better than this "
            "margin",
        ),
    ):
        parser.add_argument(
            f"--{name}", metavar="NUMBER", type=_number, default=default, help=text
        )
    parser.add_argument(
        "--fail_if_worse",
        metavar="MARGIN",
        nargs="?",
        type=_number,
        const=0.0,
        default=None,
        help="end with 5 where a run is worse by more than this margin (0), beyond "
        "doubt",
    )
    parser.add_argument(
        "--failed",
        metavar="HOW",
        default="lost",
        help="what a failed answer is: lost, in no pair; or zero, the worst score "
        "there is (lost)",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="without runs: how many samples it takes to see a difference of --margin, "
        "or what --clusters can see",
    )
    for name, default, text in (
        ("margin", None, "with --plan: the difference to see, or to show as absent"),
        ("share", None, "with --plan: the share of right answers (0.5)"),
        (
            "disagree",
            None,
            "with --plan: the share of samples on which one run alone is right (half "
            "of what it would be if the runs erred independently)",
        ),
    ):
        parser.add_argument(
            f"--{name}", metavar="NUMBER", type=_number, default=default, help=text
        )
    parser.add_argument(
        "--clusters",
        metavar="COUNT",
        type=int,
        default=None,
        help="with --plan: the samples that there are",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"{', '.join(FORMATS)} (text)",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        metavar="FOLDER",
        default="compare",
        help="the folder of the page (./compare)",
    )
    parser.add_argument(
        "--report",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=True,
        help="write the page of samples that differ (true)",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"a number is expected, not {text!r}"
        ) from None


def run(args: argparse.Namespace) -> int:
    """Print the comparison and write its page. The exit code is that of the
    comparison."""
    from mmeval.comparison.compare import compare
    from mmeval.comparison.text import comparison_text, tables_of_comparison
    from mmeval.report.page.writer import check_replaceable
    from mmeval.report.table_formats.layouts import RENDERED

    if args.plan:
        return _plan(args)
    for name in ("margin", "clusters", "share", "disagree"):
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} is of --plan alone, which takes no runs; the margin of a "
                "gate stands behind --fail_if_worse, --fail_unless_within or "
                "--fail_unless_equal",
                name=name,
            )
    if args.format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(
            f"--format: {known} are there, not "
            f"{args.format!r}{did_you_mean(args.format, FORMATS)}"
        )
    page = Path(args.output_path).expanduser() if values.switch(args.report) else None
    if page is not None:
        check_replaceable(page)
    options = {name: getattr(args, name) for name in OPTIONS}
    found = compare(*args.folders, **options)
    if args.format == "text":
        print_text(comparison_text(found, columns()))
    elif args.format == "json":
        print_text(json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(RENDERED[args.format](tables_of_comparison(found)))
    if page is not None and any(found.repeats):
        log.info("no page is written of runs that count as repeats")
    elif page is not None:
        _write_page(found, page, is_text=args.format == "text")
    return found.exit_code


def _plan(args: argparse.Namespace) -> int:
    """Print what a comparison could see, without runs."""
    from mmeval.comparison.planner import Plan

    if args.folders:
        raise UsageError("--plan is made without runs: leave the folders out")
    for name in ("fail_if_worse", "fail_unless_within", "fail_unless_equal"):
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} is a gate of a comparison: --plan has --margin", name=name
            )
    if args.format not in ("text", "json"):
        raise UsageError(f"--plan is printed as text or json, not {args.format!r}")
    given = {}
    for name in ("margin", "clusters", "share", "disagree", "power", "alpha"):
        value = getattr(args, name)
        if value is not None:
            given[name] = value
    plan = Plan(**given)
    if args.format == "json":
        print_text(json.dumps(plan.to_json(), indent=1) + "\n")
    else:
        print_text(plan.to_text())
    return EXIT_OK


def _write_page(
    found: Comparison,
    folder: Path,
    *,
    is_text: bool,
) -> None:
    """Write the page; its path ends the text, and is logged where a program reads the
    output."""
    from mmeval.comparison.page import write_comparison

    made = write_comparison(found, folder)
    lacking = [finding for finding in made.findings if finding.severity != "note"]
    lines = terminal_lines([*lacking, *made.unread])
    if lines:
        log.warning("%s", "\n".join(["of the page:", *lines]))
    page = folder / made.page.name
    if is_text:
        print_text(f"\npage      {page}\n")
    else:
        log.info("page: %s", page)
