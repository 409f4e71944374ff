"""Check a judge: does it repeat itself, look at media, and keep to the answer?

    mmeval audit runs/omni/default --judge openai,model=JUDGE \\
        --checks repeat,swap,inject --fail_on swap
    mmeval audit --from calls.jsonl --range 1,10

Each check gets an effect on a scale from 0 to 1, with a 95 % interval and one of four
words. A fault is an effect that an honest judge would hardly show, and that may matter.
A slight effect is within the margin. None means that no effect beyond the margin is
possible, and unknown that the check could not tell.

    repeat   the same trial, asked twice
    order    a list of options, or a pair, turned round
    length   points for each doubling of the words, at equal human ratings
    self     points for answers of the judge's own family, at equal human ratings
    drift    the same trial, on another day or by another version of the judge
    swap     the media of another sample
    blind    no media
    blank    black pictures, silence, white pages, empty text files
    encode   the same pictures and sounds in another encoding or size
    inject   a sentence that asks for full marks: in the text, as a caption, drawn

The judge of a run is asked about the answers to --sample samples: once as they are,
once more with another seed, and once after each change. The same command continues
after an interruption, and --dry_run prints the calls. Without --checks, the checks of a
run are repeat, swap, blind, blank, encode and inject. The checks length and self use
ratings of two people in the run's folder, drift uses its kept verdicts, and order needs
--from. The verdicts are kept in the run's folder, and those of the last audit are
exported as audit/NAME/calls.jsonl. The results are kept as a page and as JSON in
audit/certificates, named by the digest of judge, prompts and sample.

With --from, no judge is asked. The file has JSON lines, or CSV with the same names:
check, trial, cluster (the sample) and the judge's scores. These are first, again (asked
once more) and changed. The check order needs position and position_turned, from 0
(first) to 1 (last). The checks length and self need score, human, human2, and words or
own. An empty score is missing. The words "not sure" as changed score count as having
noticed the change.

For swap, blind and blank, the effect is the fall of the score, and a judge that looks
has a large one. BD is the share of its score that an answer loses by the change, BC
how far the scores stay. Compare both with those of a repeat.

The exit code is 5 if a check of --fail_on finds a fault.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.cli.bridge import FLAGS as BRIDGE_FLAGS
from mmeval.cli.parser import add_flags
from mmeval.cli.score import FLAGS as SCORE_FLAGS
from mmeval.errors import MissingDataError, UsageError, did_you_mean
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting, resolve

if TYPE_CHECKING:
    from mmeval.run.options import RescoreOptions
    from mmeval.trust.audit.audited_run import AuditedRun
    from mmeval.trust.audit.calls import Call
    from mmeval.trust.audit.rated_calls import Label
    from mmeval.trust.correction.rated_trials import Range
    from mmeval.trust.kept_verdicts import RunJudges
    from mmeval.trust.records import Rating

log = logging.getLogger(__name__)

FORMATS = ("text", "json")
SAMPLES = 60
FLAGS = (BY_NAME["judge"], *BRIDGE_FLAGS)
"""The flags of ``score`` that say how the judge is asked."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="RUN",
        type=Path,
        help="the folder of a run, whose answers are judged (or use --from)",
    )
    parser.add_argument(
        "--from",
        metavar="CALLS",
        type=Path,
        help="verdicts of a judge, as JSON lines or CSV, in place of a run",
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=int,
        help=f"ask about the answers to N samples, drawn at random ({SAMPLES})",
    )
    parser.add_argument(
        "--metric",
        metavar="METRIC",
        default="",
        help="the judged metric, if the run has several",
    )
    for name, shown, text in (
        ("checks", "NAMES", "checks, separated by commas (those of the file)"),
        ("own", "LABEL=VALUE", "the label of answers of the judge's own family"),
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
    add_flags(parser, FLAGS)


def run(args: argparse.Namespace) -> int:
    """Prints the audit, and returns its exit code."""
    from mmeval.trust.audit.audit import ANY, audit
    from mmeval.trust.audit.audit_text import audit_text
    from mmeval.trust.audit.checks import CHECKS

    settings = resolve((*SCORE_FLAGS, BY_NAME["dry_run"]), _given(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    # "from" is a keyword of Python
    file = getattr(args, "from")
    if bool(file) == bool(args.folder):
        raise UsageError("give the folder of a run, or --from CALLS")
    checks = _names("checks", args.checks, CHECKS)
    fail_on = _names("fail_on", args.fail_on, (*CHECKS, ANY))
    limits = values.limits(args.range) if args.range else None
    audited = None
    reasons: Mapping[str, str] = {}
    if file:
        from mmeval.trust.rows import read_calls

        _refuse_flags_of_runs(args)
        calls: Sequence[Call] = read_calls(file, limits)
        of_file = dict.fromkeys(call.check for call in calls)
        _refuse_undone(fail_on, checks or tuple(of_file))
    else:
        audited = _audited_run(args, settings, checks, limits)
        _refuse_undone(fail_on, audited.checks)
        if settings["dry_run"].value:
            print_text(_dry_run_text(audited, settings))
            return 0
        calls = audited.ask()
        checks = tuple(audited.checks)
        reasons = audited.reasons()
    result = audit(calls, checks, assume_exact=args.assume_exact, reasons=reasons)
    if args.format == "json":
        document = result.to_json()
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(audit_text(result, columns()))
    code = result.exit_code(fail_on)
    if audited is not None:
        log.info("certificate: %s", audited.certify(result))
        code = code or audited.exit_code
    return code


def _refuse_flags_of_runs(args: argparse.Namespace) -> None:
    """Raises UsageError for a flag that has an effect on runs alone."""
    of_judge = [flag.name for flag in FLAGS if flag.name != "verbosity"]
    for name in (*of_judge, "own", "metric", "sample"):
        if getattr(args, name, None) not in (None, ""):
            raise UsageError(
                f"--{name} has no effect with --from, which asks no judge; give the "
                "folder of a run"
            )


def _refuse_undone(fail_on: Sequence[str], checks: Sequence[str]) -> None:
    """Raises UsageError for a check of --fail_on that is not done."""
    from mmeval.trust.audit.audit import ANY

    for name in fail_on:
        if name != ANY and name not in checks:
            raise UsageError(
                f"--fail_on: the check {name} is not done; the checks are "
                f"{', '.join(checks)}"
            )


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the given flags that ``score`` has too."""
    names = {flag.name for flag in FLAGS}
    return {name: value for name, value in vars(args).items() if name in names}


def _audited_run(
    args: argparse.Namespace,
    settings: Mapping[str, Setting],
    checks: Sequence[str],
    limits: Range | None,
) -> AuditedRun:
    from mmeval.cli.score import judge_name, log_outcome, rescore_options
    from mmeval.results.stored_run import StoredRun, run_folder
    from mmeval.store.answer_draw import AnswerDraw
    from mmeval.trust.audit.audited_run import AuditedRun
    from mmeval.trust.audit.calls import RATED
    from mmeval.trust.audit.changed_answers import CHANGES
    from mmeval.trust.kept_verdicts import RunJudges, judged_number
    from mmeval.trust.new_judge import AskedJudge
    from mmeval.trust.run_scores import range_in_run

    sample_count = SAMPLES if args.sample is None else args.sample
    if sample_count < 1:
        raise UsageError("--sample must be at least 1")
    if not settings["judge"].value:
        raise UsageError(
            "name the judge with --judge, or give its verdicts with --from"
        )
    stored = StoredRun(run_folder(args.folder))
    number = judged_number([stored], args.metric)
    limits = limits or range_in_run(stored, number)
    if not all(map(math.isfinite, limits)):
        raise UsageError(f"{number} has no finite range; state it with --range")
    name = judge_name(settings)

    def options_of(run: RunJudges) -> RescoreOptions:
        of_run = run.run.record.get("settings", {})
        return rescore_options(run.run.folder, of_run, settings)

    judge = AskedJudge(name, AnswerDraw(sample_count), options_of, log_outcome)
    judges = RunJudges(stored, "", number)
    return AuditedRun(
        judges,
        judge,
        checks or tuple(CHANGES),
        limits,
        log_outcome,
        _ratings(stored.folder) if RATED.intersection(checks) else (),
        _own_family(args.own),
    )


def _ratings(run: Path) -> Sequence[Rating]:
    """Returns the ratings of people in a run folder."""
    from mmeval.trust.forms.registry import read_files

    try:
        return read_files([run]).ratings
    except MissingDataError:
        return ()


def _own_family(text: str) -> Label | None:
    if not text:
        return None
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--own must be LABEL=VALUE such as model=gpt, not {text!r}")
    return name, value


def _dry_run_text(audited: AuditedRun, settings: Mapping[str, Setting]) -> str:
    from mmeval.run.costs.prices import load_prices
    from mmeval.trust.audit.audit_text import calls_text

    judge = audited.judge.name
    calls = audited.calls_to_make()
    price = load_prices(settings["model_cost_config"].value).of_model(judge)
    dollars = None
    if price is not None:
        dollars = price.cost(audited.spending(sum(calls.values())))
    return calls_text(calls, judge, audited.answers, dollars, columns())


def _names(flag: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--{flag}: {name!r} is not a check{did_you_mean(name, known)}; the "
                f"checks are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(names))
