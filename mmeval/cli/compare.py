"""Compare runs: their differences, the uncertainty, and the samples that differ.

    mmeval compare runs/old-model/default runs/new-model/default
    mmeval compare runs/old-model/default runs/new-model/default --fail_if_worse 0.02
    mmeval compare runs/default.board.yaml

The first RUN is the reference. A difference is another run's value minus the
reference's value. Trials are paired by sample and prompt. No model is called, and the
runs are not changed.

The exit code is 3 if something requested cannot be compared. It is 5 if a run is worse
than a gate (--fail_if_worse, --fail_unless_within, --fail_unless_equal) allows.
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
"""The flags that become arguments of ``mmeval.compare``."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="RUN",
        help="folder of a run, or a board file with runs; the first run is the "
        "reference. NAME=RUN,RUN lists runs of one model that count as its repeats",
    )
    for name, shown, text in (
        (
            "metrics",
            "METRIC",
            "numbers to compare, separated by commas, or all (the first of each task "
            "and group)",
        ),
        ("tasks", "TASK", "tasks and groups to compare, separated by commas (all)"),
        (
            "across",
            "ASPECT",
            "compare although this differs: judge, definition, protocol or prompts",
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
        help="also compare slices by a label of the samples",
    )
    parser.add_argument(
        "--correction",
        metavar="NAME",
        default="holm",
        help="correction for several tests: holm, bh (false discovery rate) or none "
        "(holm)",
    )
    parser.add_argument(
        "--simultaneous",
        action="store_true",
        help="widen the intervals so that all of them hold in 95 %% of cases",
    )
    for name, default, text in (
        ("alpha", 0.05, "significance level of the tests (0.05)"),
        ("power", 0.8, "power at which the smallest difference is detected (0.8)"),
        (
            "detect",
            None,
            "also print the number of samples needed to detect this difference",
        ),
        (
            "fail_unless_within",
            None,
            "exit with 5 unless the intervals show that no run is worse by this margin",
        ),
        (
            "fail_unless_equal",
            None,
            "exit with 5 unless the intervals show that no run is worse or better by "
            "this margin",
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
        help="exit with 5 if a run is significantly worse by more than this margin (0)",
    )
    parser.add_argument(
        "--failed",
        metavar="HOW",
        default="lost",
        help="how a failed answer counts: lost (its pair is left out) or zero (the "
        "worst score) (lost)",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="without runs: print the number of samples needed to detect a difference "
        "of --margin, or the difference that --clusters samples can detect",
    )
    for name, default, text in (
        ("margin", None, "with --plan: the difference to detect or to rule out"),
        ("share", None, "with --plan: the share of right answers (0.5)"),
        (
            "disagree",
            None,
            "with --plan: the share of samples on which only one run is right (half of "
            "its value for runs with independent errors)",
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
        help="with --plan: the number of samples",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        metavar="FOLDER",
        default="compare",
        help="folder of the page (./compare)",
    )
    parser.add_argument(
        "--report",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=True,
        help="write a page of the samples that differ (true)",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}") from None


def run(args: argparse.Namespace) -> int:
    """Prints the comparison, writes its page, and returns its exit code."""
    from mmeval.comparison.compare import compare
    from mmeval.comparison.text import comparison_text, tables_of_comparison
    from mmeval.report.page.writer import check_replaceable
    from mmeval.report.table_formats.layouts import RENDERED

    if args.plan:
        return _plan(args)
    for name in ("margin", "clusters", "share", "disagree"):
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} needs --plan; to set the margin of a gate, use "
                "--fail_if_worse, --fail_unless_within or --fail_unless_equal",
                name=name,
            )
    if args.format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(
            f"--format must be one of {known}, not "
            f"{args.format!r}{did_you_mean(args.format, FORMATS)}"
        )
    page = Path(args.output_path).expanduser() if values.switch(args.report) else None
    if page is not None:
        check_replaceable(page)
    options = {name: getattr(args, name) for name in OPTIONS}
    comparison = compare(*args.folders, **options)
    if args.format == "text":
        print_text(comparison_text(comparison, columns()))
    elif args.format == "json":
        print_text(
            json.dumps(comparison.to_json(), indent=1, ensure_ascii=False) + "\n"
        )
    else:
        print_text(RENDERED[args.format](tables_of_comparison(comparison)))
    if page is not None and any(comparison.repeats):
        log.info("the page is left out, because runs count as repeats")
    elif page is not None:
        _write_page(comparison, page, is_text=args.format == "text")
    return comparison.exit_code


def _plan(args: argparse.Namespace) -> int:
    """Prints the power of a planned comparison. No runs are needed."""
    from mmeval.comparison.planner import Plan

    if args.folders:
        raise UsageError("--plan works without runs; leave out the folders")
    for name in ("fail_if_worse", "fail_unless_within", "fail_unless_equal"):
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} is a gate of a comparison; use --margin with --plan",
                name=name,
            )
    if args.format not in ("text", "json"):
        raise UsageError(
            f"--format must be text or json with --plan, not {args.format!r}"
        )
    arguments = {}
    for name in ("margin", "clusters", "share", "disagree", "power", "alpha"):
        value = getattr(args, name)
        if value is not None:
            arguments[name] = value
    plan = Plan(**arguments)
    if args.format == "json":
        print_text(json.dumps(plan.to_json(), indent=1) + "\n")
    else:
        print_text(plan.to_text())
    return EXIT_OK


def _write_page(
    comparison: Comparison,
    folder: Path,
    *,
    is_text: bool,
) -> None:
    """Writes the page.

    If the output is text, the page's path is printed after it. For other formats the
    path is logged, because programs read the output.
    """
    from mmeval.comparison.page import write_comparison

    written = write_comparison(comparison, folder)
    findings = [finding for finding in written.findings if finding.severity != "note"]
    lines = terminal_lines([*findings, *written.unread])
    if lines:
        log.warning("%s", "\n".join(["of the page:", *lines]))
    page = folder / written.page.name
    if is_text:
        print_text(f"\npage      {page}\n")
    else:
        log.info("page: %s", page)
