"""Let people rate the answers of runs on a local page.

    mmeval annotate runs/omni/default --metric judge_grade --raters ann,bob
    mmeval annotate runs/omni/default --ask tone.yaml --limit 50 --raters ann,bob
    mmeval annotate runs/a/default runs/b/default --ask pairs.yaml

Each rater gets a link, and sees one answer at a time with a question about it.
The page does not show which model gave an answer, nor any score. The order of
the answers differs for each rater. Each rating is on disk before the next answer
is shown, in RUN/ratings/NAME/ratings.jsonl. Ctrl-C stops; the same command goes
on later.

The question is that of a judged metric (--metric), with ratings in its units, or
it is in a YAML file (--ask):

    question: How polite is the answer?
    kind: grade                  # or choice, yes_no, rubric, labels, text
    levels: [rude, neutral, polite]

A choice has options, a rubric has criteria, and labels (kinds of errors) have
labels. With 'pairs: true' instead of kind, raters choose the better one of two
runs' answers.

The page is served to this machine only, unless --host names another address. The
exit code is 2 if the question does not fit the runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mmeval.errors import UsageError
from mmeval.report.terminal import print_text
from mmeval.system.wording import split_names

PORT = 8765


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="RUN",
        help="folder of a run whose answers are rated; one, two or more",
    )
    for name, shown, text in (
        ("metric", "METRIC", "ask the question of this judged metric"),
        ("ask", "FILE", "ask the question in this YAML file"),
        ("gold", "FILE", "ratings that are known to be right; every rater rates them"),
        ("name", "NAME", "name of the ratings in the run's folder (people)"),
        ("tasks", "NAMES", "rate these tasks only, separated by commas"),
        ("stratify", "LABELS", "draw in proportion to the values of these labels"),
        ("raters", "NAMES", "names of the raters, separated by commas (rater)"),
        ("prolific", "CODE", "raters come from Prolific, which gets this code"),
        ("prolific_failed", "CODE", "the code for raters with many wrong gold answers"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, default="", help=text)
    for name, text in (
        ("limit", "draw this number of samples of each task at random (all)"),
        ("sample_shuffle", "seed of the draw and of the orders (0)"),
        ("overlap", "number of raters of each answer (all; 1 with --prolific)"),
        ("per_rater", "largest number of answers that one rater rates"),
        ("port", f"port of the page ({PORT})"),
    ):
        parser.add_argument(
            f"--{name}", metavar="NUMBER", type=int, default=None, help=text
        )
    for name, text in (
        ("again", "share of a rater's answers that are shown twice (0)"),
        ("precision", "stop at this half width of the mean's interval"),
    ):
        parser.add_argument(
            f"--{name}", metavar="NUMBER", type=float, default=None, help=text
        )
    for name, text in (
        ("adjudicate", "let a further rater rate answers on which the raters differ"),
        ("keep_ids", "name raters by their number at Prolific, not by a hash of it"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="address on which the page is served (127.0.0.1: this machine only)",
    )


def run(args: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C, and returns the exit code."""
    from mmeval.trust.annotate.command import AnnotationOptions, serve
    from mmeval.trust.annotate.server import Completion

    if bool(args.metric) == bool(args.ask):
        raise UsageError("give the question by --metric METRIC or by --ask FILE")
    completion = None
    if args.prolific:
        completion = Completion(args.prolific, args.prolific_failed, args.keep_ids)
        if args.raters:
            raise UsageError("--raters and --prolific exclude each other")
    elif args.prolific_failed or args.keep_ids:
        raise UsageError("--prolific_failed and --keep_ids need --prolific")
    options = AnnotationOptions(
        folders=tuple(Path(folder) for folder in args.folders),
        metric=args.metric,
        ask=Path(args.ask) if args.ask else None,
        gold=Path(args.gold) if args.gold else None,
        name=args.name or "people",
        tasks=split_names([args.tasks]),
        limit=args.limit,
        seed=args.sample_shuffle or 0,
        strata=split_names([args.stratify]),
        raters=split_names([args.raters]) or ("rater",),
        overlap=args.overlap,
        per_rater=args.per_rater,
        again=args.again or 0.0,
        adjudicate=args.adjudicate,
        precision=args.precision,
        completion=completion,
        host=args.host,
        port=PORT if args.port is None else args.port,
    )
    return serve(options, print_text)
