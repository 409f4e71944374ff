"""Correlate numbers of models with another board, or scores with ratings of people.

    mmeval correlate runs/default.board.yaml --with arena.csv
    mmeval correlate --published paper.csv --with arena.csv --method spearman
    mmeval correlate runs/my-model/default --with ratings.csv --metrics all

--with FILE.csv is a board with the columns model,value, or ratings of answers with the
columns task,sample,value (and model,repeat,metric,rater). Each correlation has a 95 %
interval, and so has the difference of two correlations. No model is called, and the
runs are not changed.

The exit code is 3 if a correlation is not defined, as for a constant series.
"""

from __future__ import annotations

import argparse
import json

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError, did_you_mean
from mmeval.report.terminal import columns, print_text

FORMATS = ("text", "json", "markdown", "csv")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="folder of a run, NAME=RUN, or a board file with runs",
    )
    parser.add_argument(
        "--with",
        dest="reference",
        metavar="FILE",
        default="",
        help="CSV file with the values of a board, or with ratings",
    )
    for name, shown, text in (
        ("published", "FILE", "CSV file of published numbers, used like runs"),
        (
            "metrics",
            "METRIC",
            "numbers to correlate, separated by commas, or all (the first of each task "
            "and group, all published numbers, or the metrics that the ratings name)",
        ),
        ("tasks", "TASK", "tasks and groups to correlate, separated by commas (all)"),
        (
            "method",
            "NAME",
            "pearson, spearman, kendall, separated by commas (all three)",
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
        help="with ratings: also correlate slices by a label of the samples",
    )
    parser.add_argument(
        "--level",
        metavar="LEVEL",
        default="",
        help="what is correlated: model or sample (set by the columns of --with)",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the correlations, and returns the exit code."""
    from mmeval.comparison.correlation.correlate import LEVELS, correlate
    from mmeval.comparison.correlation.text import (
        correlated_text,
        tables_of_correlations,
    )
    from mmeval.report.table_formats.layouts import RENDERED

    if not args.reference:
        raise UsageError("--with is missing; it names a CSV file", name="--with")
    for name, value, known in (
        ("format", args.format, FORMATS),
        ("level", args.level or LEVELS[0], LEVELS),
    ):
        if value not in known:
            raise UsageError(
                f"--{name} must be one of {', '.join(known)}, not "
                f"{value!r}{did_you_mean(value, known)}"
            )
    correlated = correlate(
        args.runs,
        reference=args.reference,
        published=args.published,
        level=args.level,
        metrics=args.metrics,
        tasks=args.tasks,
        methods=args.method,
        by=args.by,
    )
    if args.format == "text":
        print_text(correlated_text(correlated, columns()))
    elif args.format == "json":
        document = json.dumps(correlated.to_json(), indent=1, ensure_ascii=False)
        print_text(f"{document}\n")
    else:
        print_text(RENDERED[args.format](tables_of_correlations(correlated)))
    return EXIT_OK if correlated.is_defined else EXIT_INCOMPLETE
