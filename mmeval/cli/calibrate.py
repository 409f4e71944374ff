"""Correct a metric by people's ratings of few answers.

    mmeval calibrate runs/omni/default --ratings ratings.csv --metric judge
    mmeval calibrate --run runs/a/default --against runs/b/default \\
        --ratings ratings.csv --metric judge
    mmeval calibrate --scores scores.jsonl --ratings ratings.csv --metric judge

The metric alone, the ratings alone and the corrected metric are printed beside each
other. The correction uses the ratings to measure how the metric errs, and the metric to
cover the unrated answers. Its interval is never much wider than that of the
ratings alone, even if the metric is useless.

The first interval is for samples such as these, the second for exactly these trials.
Ratings need a random draw: say so in each rating, with draw.how random (or all).

The files are JSON lines, or CSV with the same names. Ratings have trial, rater and
value, scores have trial, metric and value. Trials of a run are named TASK/SAMPLE/REPEAT
in ratings, with repeats from 0. No model is called. The run keeps the corrected number,
and mmeval report shows it below the metric.

The exit code is 3 if the correction is refused, as for ratings that were not drawn at
random. With fewer than 20 ratings, nothing is corrected, and the exit code is 0.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values

if TYPE_CHECKING:
    from mmeval.trust.calibrate import CalibrationOptions
    from mmeval.trust.run_scores import RunScores

FORMATS = ("text", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="RUN",
        help="folder of a run, whose scores are read (or use --scores)",
    )
    for name, shown, text in (
        ("ratings", "FILE", "people's ratings, as JSON lines or CSV"),
        ("metric", "METRIC", "the metric to correct"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, required=True, help=text)
    for name, shown, text in (
        ("scores", "FILE", "scores, as JSON lines or CSV, in place of a run"),
        ("strata", "LABEL", "correct each value of this label by itself"),
        ("by", "LABEL", "also correct slices by this label"),
        ("run", "RUN", "a run of --scores, or a folder together with --against"),
        ("against", "RUN", "subtract the run of --run from this run"),
        ("question", "NAME", "use the ratings of this question"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, default="", help=text)
    parser.add_argument(
        "--proxy",
        metavar="METRIC",
        action="append",
        default=[],
        help="a further metric that helps to predict the ratings; may be repeated",
    )
    parser.add_argument(
        "--range",
        metavar="LOW,HIGH",
        default="",
        help="the range of the ratings (that of the metric in the run)",
    )
    parser.add_argument(
        "--precision",
        metavar="NUMBER",
        type=float,
        default=None,
        help="print the number of ratings needed for this half width",
    )
    parser.add_argument(
        "--human",
        metavar="HOW",
        default="",
        help="how several raters of a trial become one value: mean, median or majority "
        "(mean)",
    )
    parser.add_argument(
        "--sequence",
        action="store_true",
        help="also print an interval that holds however often one looks",
    )
    parser.add_argument(
        "--assume_random",
        action="store_true",
        help="treat the rated trials as drawn at random",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the calibration, and returns its exit code."""
    from mmeval.trust.calibrate import calibrate
    from mmeval.trust.calibrate_text import calibration_text
    from mmeval.trust.rated_answers import ratings_of_kept_answers, warn_of_strangers
    from mmeval.trust.rows import read_ratings

    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    scores = _scores(args)
    ratings = read_ratings(Path(args.ratings))
    if scores.runs:
        ratings = ratings_of_kept_answers(ratings, scores.runs)
    warn_of_strangers(ratings, scores.rows)
    calibration = calibrate(scores.rows, ratings, _options(args, scores))
    if scores.runs:
        from mmeval.trust.kept_numbers import keep_calibration

        keep_calibration(calibration, scores.runs, Path(args.ratings))
    if args.format == "json":
        document = calibration.to_json()
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(calibration_text(calibration, columns()))
    return calibration.exit_code


def _scores(args: argparse.Namespace) -> RunScores:
    """Returns the scores of a file, of a run, or of the two runs that --run and
    --against name by their folders."""
    from mmeval.trust.rows import read_scores
    from mmeval.trust.run_scores import RunScores, read_runs

    metrics = [args.metric, *args.proxy]
    if args.scores and not args.folder:
        return RunScores(read_scores(Path(args.scores)), (args.run, args.against))
    if args.folder and not (args.scores or args.run or args.against):
        return read_runs([Path(args.folder)], metrics)
    if args.run and args.against and not (args.scores or args.folder):
        return read_runs([Path(args.run), Path(args.against)], metrics)
    raise UsageError(
        "give --scores FILE, the folder of one run, or the folders of two runs as "
        "--run and --against"
    )


def _options(args: argparse.Namespace, scores: RunScores) -> CalibrationOptions:
    from mmeval.trust.calibrate import CalibrationOptions
    from mmeval.trust.human_values import named_human_value

    run, against = scores.names

    return CalibrationOptions(
        metric=args.metric,
        proxies=tuple(args.proxy),
        strata=args.strata,
        by=args.by,
        run=run,
        against=against,
        limits=values.limits(args.range) if args.range else scores.limits,
        precision=args.precision,
        sequence=args.sequence,
        assume_random=args.assume_random,
        human=named_human_value(args.human),
        question=args.question or None,
    )
