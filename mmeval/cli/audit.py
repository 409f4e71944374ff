"""Check a judge: does it repeat itself, look at media, and keep to the answer?

    mmeval audit --from calls.jsonl --range 1,10
    mmeval audit --from calls.jsonl --checks swap,inject --fail_on any

Each check gets an effect on a scale from 0 to 1, with a 95 % interval and one of four
words. A fault is an effect that an honest judge would hardly show, and that may matter.
A slight effect is within the margin. None means that no effect beyond the margin is
possible, and unknown that the check could not tell.

    repeat   the same trial, asked twice
    order    a list of options, or a pair, turned round
    length   points for each doubling of the words, at equal human ratings
    self     points for answers of the judge's own family, at equal human ratings
    drift    the same trial, at another time or by another version of the judge
    swap     the media of another sample
    blind    no media
    blank    black pictures, silence, white pages
    encode   the same media in another encoding or size
    inject   a sentence that asks the judge for full marks

The file has JSON lines, or CSV with the same names: check, trial, cluster (the sample)
and the judge's scores. These are first, again (asked once more) and changed. The check
order needs position and position_turned, from 0 (first) to 1 (last). The checks length
and self need score, human, human2, and words or own. An empty score is missing. The
words "not sure" as changed score count as having noticed the change.

For swap, blind and blank, the effect is the fall of the score, and a judge that looks
has a large one. BD is the share of its score that an answer loses by the change, BC
how far the scores stay. Compare both with those of a repeat.

The exit code is 5 if a check of --fail_on finds a fault.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values

FORMATS = ("text", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "--from",
        metavar="CALLS",
        required=True,
        type=Path,
        help="what the judge said, as JSON lines or CSV",
    )
    for name, shown, text in (
        ("checks", "NAMES", "checks, separated by commas (those of the file)"),
        ("range", "LOW,HIGH", "the range of the judge's scores (0,1)"),
        (
            "fail_on",
            "NAMES",
            "end with exit code 5 if one of these checks, or any, finds a fault",
        ),
    ):
        parser.add_argument(f"--{name}", metavar=shown, default="", help=text)
    parser.add_argument(
        "--assume_exact",
        action="store_true",
        help="treat a single human rating as free of error",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        default="text",
        help=f"output format: {', '.join(FORMATS)} (text)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the audit, and returns its exit code."""
    from mmeval.trust.audit.audit import ANY, audit
    from mmeval.trust.audit.audit_text import audit_text
    from mmeval.trust.audit.checks import CHECKS
    from mmeval.trust.rows import read_calls

    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    checks = _names("checks", args.checks, CHECKS)
    fail_on = _names("fail_on", args.fail_on, (*CHECKS, ANY))
    limits = values.limits(args.range) if args.range else None
    # "from" is a keyword of Python
    calls = read_calls(getattr(args, "from"), limits)
    result = audit(calls, checks, assume_exact=args.assume_exact)
    if args.format == "json":
        document = result.to_json()
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(audit_text(result, columns()))
    return result.exit_code(fail_on)


def _names(flag: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--{flag}: {name!r} is not a check{did_you_mean(name, known)}; the "
                f"checks are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(names))
