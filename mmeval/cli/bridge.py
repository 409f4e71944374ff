"""Carry numbers of an old judge over to a new judge, from verdicts on a few answers.

    mmeval bridge --scores scores.jsonl --from old-judge --to new-judge

The old judge has judged all answers, the new judge a random sample of them, at least 20
for each run and best the same samples for all runs. Each run gets its number in the new
judge's scale with a 95 % interval. Each pair of runs gets a verdict: its order is
carried over, turned, or open.

The file has JSON lines, or CSV with the same names: trial, run, metric (the judge) and
value. Rows of the new judge state draw.how random (or all). If rows state the digest of
the answer, it must be the same for both judges. No model is called.

The exit code is 3 if a number cannot be carried over.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import columns, print_text

FORMATS = ("text", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    for name, shown, text in (
        ("scores", "FILE", "verdicts of both judges, as JSON lines or CSV"),
        ("from", "OLD", "the judge that has judged all answers"),
        ("to", "NEW", "the judge that has judged a sample of them"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, required=True, help=text)
    parser.add_argument(
        "--assume_random",
        action="store_true",
        help="treat the sample as drawn at random",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the bridged numbers, and returns the exit code."""
    from mmeval.trust.bridge import bridge
    from mmeval.trust.bridge_text import bridge_text
    from mmeval.trust.rows import read_scores

    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    # "from" is a keyword of Python
    old = getattr(args, "from")
    rows = read_scores(Path(args.scores))
    result = bridge(rows, old, args.to, assume_random=args.assume_random)
    if args.format == "json":
        document = result.to_json()
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(bridge_text(result, old, args.to, columns()))
    return result.exit_code
