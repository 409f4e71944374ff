"""Compare a metric with people's ratings, and people among themselves.

    mmeval agree ratings.jsonl --scores scores.jsonl --metric judge
    mmeval agree ratings.csv --run runs/omni/default --metric judge --by task
    mmeval agree export.json --form label_studio --question quality
    mmeval agree runs/omni/default --metric judge

The files of ratings are JSON lines, or CSV with the same names: trial, rater and value.
--form reads exports of other programs, listed below. A folder of a run stands for its
ratings, and for its scores. Trials of a run are named TASK/SAMPLE/REPEAT in ratings,
with repeats from 0.

Ratings of pairs have a, b (names of models) and a value: a, b, tie, tie_a or tie_b (a
tie that leans to a side). They give win rates, and strengths by Bradley and Terry.

No model is called, and no run is changed. The exit code is 3 if the comparisons do not
determine the strengths.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.cli.parser import Parser
from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import columns, print_text

if TYPE_CHECKING:
    from mmeval.trust.agreement.agree import AgreementOptions
    from mmeval.trust.pairs.judgements import Ties
    from mmeval.trust.run_scores import RunScores

FORMATS = ("text", "json")


def configure(parser: Parser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "ratings",
        nargs="+",
        metavar="RATINGS",
        help="files of ratings, or folders of runs with ratings",
    )
    for name, shown, text in (
        ("form", "FORM", "the form of the files, listed below"),
        ("question", "NAME", "use the ratings of this question"),
        ("scores", "FILE", "scores, as JSON lines or CSV"),
        ("metric", "METRIC", "the metric to compare with people"),
        ("human", "HOW", "how raters become one value: mean, median or majority"),
        ("by", "LABEL", "also compare slices by this label, such as task"),
        ("gold", "FILE", "right answers, with trial and value"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, default="", help=text)
    parser.add_argument(
        "--run",
        metavar="RUN",
        action="append",
        default=[],
        help="folder of a run, whose scores are read; may be repeated",
    )
    parser.add_argument(
        "--macro",
        action="store_true",
        help="also print the means over the slices of --by",
    )
    parser.add_argument(
        "--ties",
        metavar="HOW",
        default="davidson",
        help="what a tie of a pair is: davidson (an outcome of its own), half (half a "
        "win for each) or forced (a win of its side) (davidson)",
    )
    parser.add_argument(
        "--gold_floor",
        metavar="SHARE",
        type=float,
        default=None,
        help="name raters with a smaller share of right answers (0.7)",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )
    parser.ending = _list_of_forms


def run(args: argparse.Namespace) -> int:
    """Prints the agreement, and returns its exit code."""
    from mmeval.trust.agreement.agree import agree
    from mmeval.trust.agreement.agree_text import agreement_text
    from mmeval.trust.forms.registry import read_files
    from mmeval.trust.rated_answers import ratings_of_kept_answers, warn_of_strangers

    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    if args.macro and not args.by:
        raise UsageError("--macro needs --by LABEL: the slices whose mean is printed")
    paths = [Path(path) for path in args.ratings]
    reading = read_files(paths, args.form)
    scores = _scores(args, paths)
    ratings = reading.ratings
    if scores.runs:
        ratings = ratings_of_kept_answers(ratings, scores.runs)
    warn_of_strangers(ratings, scores.rows)
    agreement = agree(ratings, scores.rows, _options(args))
    if args.format == "json":
        document = agreement.to_json()
        if reading.skipped:
            document["skipped"] = dict(reading.skipped)
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(agreement_text(agreement, reading.skipped, columns()))
    return agreement.exit_code


def _scores(args: argparse.Namespace, paths: Sequence[Path]) -> RunScores:
    """Returns the scores of a file, of runs, or of the run whose ratings are read."""
    from mmeval.trust.rows import read_scores
    from mmeval.trust.run_scores import RunScores, read_runs

    if args.scores and args.run:
        raise UsageError("give --scores or --run, not both")
    if args.scores:
        return RunScores(read_scores(Path(args.scores), words=True), ("", ""))
    folders = [Path(folder) for folder in args.run]
    if not folders and args.metric:
        folders = list(_folders(paths))
    if not folders:
        return RunScores([], ("", ""))
    if not args.metric:
        raise UsageError("--run needs --metric: the metric to compare with people")
    return read_runs(folders, [args.metric])


def _folders(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield path


def _options(args: argparse.Namespace) -> AgreementOptions:
    from mmeval.trust.agreement.agree import GOLD_FLOOR, AgreementOptions
    from mmeval.trust.human_values import named_human_value
    from mmeval.trust.rows import read_gold

    return AgreementOptions(
        metric=args.metric,
        human=named_human_value(args.human),
        question=args.question or None,
        by=args.by,
        macro=args.macro,
        ties=_ties(args.ties),
        gold=read_gold(Path(args.gold)) if args.gold else {},
        gold_floor=GOLD_FLOOR if args.gold_floor is None else args.gold_floor,
    )


def _ties(name: str) -> Ties:
    from mmeval.trust.pairs.judgements import TIES

    for ties in TIES:
        if ties == name:
            return ties
    raise UsageError(
        f"--ties must be one of {', '.join(TIES)}, not {name!r}"
        f"{did_you_mean(name, TIES)}"
    )


def _list_of_forms() -> str:
    from mmeval.trust.forms.registry import list_of_forms

    return list_of_forms()
