"""Carry numbers of an old judge over to a new judge, from verdicts on a few answers.

    mmeval bridge runs/a/default runs/b/default --from OLD \\
        --to openai,model=NEW --sample 60
    mmeval bridge runs/a/default runs/b/default --from OLD --to NEW
    mmeval bridge --scores scores.jsonl --from OLD --to NEW

The old judge has judged all answers, the new judge a random sample of them, at least 20
for each run and best the same samples for all runs. Each run gets its number in the new
judge's scale with a 95 % interval. Each pair of runs gets a verdict: its order is
carried over, turned, or open.

With --sample, the new judge is asked about the same samples of each run, and only about
answers that it has not judged yet. The same command continues after an interruption.
Without it, verdicts that the runs keep are used, such as those of mmeval score --sample
60 --judge_archive. The old judge is never asked. OLD, and NEW without --sample, are
names of models.

The file has JSON lines, or CSV with the same names: trial, run, metric (the judge) and
value. Rows of the new judge state draw.how random (or all). If rows state the digest of
the answer, it must be the same for both judges.

Runs keep their new numbers, and mmeval report shows them below the old ones.

The exit code is 3 if a number cannot be carried over.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.cli.parser import add_flags
from mmeval.cli.score import FLAGS as SCORE_FLAGS
from mmeval.errors import UsageError, did_you_mean
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting, resolve

if TYPE_CHECKING:
    from mmeval.run.options import RescoreOptions
    from mmeval.store.spending import CallTotals
    from mmeval.trust.bridge import Bridge
    from mmeval.trust.kept_verdicts import RunJudges
    from mmeval.trust.new_judge import AskedJudge

FORMATS = ("text", "json")
_OF_A_JUDGE = (
    "role",
    "judge_args",
    "judge_base_url",
    "judge_prompts",
    "metric_args",
    "profile",
    "trust_remote_code",
    "probe",
    "judge_patience",
    "max_connections",
    "retry_on_error",
    "budget_usd",
    "budget_tokens",
    "budget_calls",
    "max_calls_per_answer",
    "max_tokens_per_answer",
    "model_cost_config",
    "dry_run",
    "verbosity",
)
FLAGS = tuple(BY_NAME[name] for name in _OF_A_JUDGE)
"""The flags of ``score`` that say how the new judge is asked."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the verb."""
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="RUN",
        type=Path,
        help="folders of runs that the old judge has judged (or use --scores)",
    )
    for name, shown, text in (
        ("from", "OLD", "the judge that has judged all answers"),
        ("to", "NEW", "the judge that judges a sample: a backend or a kept judge"),
    ):
        parser.add_argument(f"--{name}", metavar=shown, required=True, help=text)
    parser.add_argument(
        "--scores",
        metavar="FILE",
        default="",
        help="verdicts of both judges, as JSON lines or CSV, in place of runs",
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=int,
        default=None,
        help="ask the new judge about the answers to N samples, drawn at random",
    )
    parser.add_argument(
        "--metric",
        metavar="METRIC",
        default="",
        help="the judged metric, if the runs have several",
    )
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
    add_flags(parser, FLAGS)


def run(args: argparse.Namespace) -> int:
    """Prints the bridged numbers, and returns the exit code."""
    settings = resolve((*SCORE_FLAGS, BY_NAME["dry_run"]), _given(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    if args.format not in FORMATS:
        raise UsageError(
            f"--format must be text or json, not {args.format!r}"
            f"{did_you_mean(args.format, FORMATS)}"
        )
    if bool(args.scores) == bool(args.folders):
        raise UsageError("give the folders of runs, or --scores FILE")
    if args.scores:
        return _bridge_file(args)
    return _bridge_runs(args, settings)


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the given flags that ``score`` has too."""
    names = set(_OF_A_JUDGE)
    return {name: value for name, value in vars(args).items() if name in names}


def _bridge_file(args: argparse.Namespace) -> int:
    from mmeval.trust.bridge import bridge
    from mmeval.trust.rows import read_scores

    if args.sample is not None:
        raise UsageError("--sample asks a judge about the answers of runs; give runs")
    # "from" is a keyword of Python
    old = getattr(args, "from")
    rows = read_scores(Path(args.scores))
    result = bridge(rows, old, args.to, assume_random=args.assume_random)
    return _show(result, old, args.to, args.format)


def _bridge_runs(args: argparse.Namespace, settings: Mapping[str, Setting]) -> int:
    from mmeval.report.page.writer import names_of
    from mmeval.results.stored_run import StoredRun, run_folder
    from mmeval.run.costs.prices import load_prices
    from mmeval.trust.bridge_runs import bridge_runs, drawn_answers
    from mmeval.trust.bridge_text import calls_text
    from mmeval.trust.kept_numbers import keep_bridge
    from mmeval.trust.kept_verdicts import RunJudges, judged_number

    runs = [StoredRun(run_folder(folder)) for folder in args.folders]
    number = judged_number(runs, args.metric)
    judges = []
    for stored, name in zip(runs, names_of(runs), strict=True):
        judges.append(RunJudges(stored, name, number))

    old, new = getattr(args, "from"), args.to
    new_judge = None
    if args.sample is not None:
        new_judge = _asked_judge(args, settings)
        new = new_judge.name
    if settings["dry_run"].value:
        if new_judge is None:
            raise UsageError("--dry_run has no effect without --sample")
        trials = drawn_answers(judges, old, new, new_judge)
        price = load_prices(settings["model_cost_config"].value).of_model(new)
        print_text(calls_text(_calls(judges, old, trials), new, price, columns()))
        return 0
    result = bridge_runs(
        judges,
        old,
        new,
        new_judge=new_judge,
        assume_random=args.assume_random,
    )
    keep_bridge(result, judges, old, new)
    code = _show(result, old, new, args.format)
    if new_judge is not None:
        code = code or new_judge.exit_code
    return code


def _asked_judge(
    args: argparse.Namespace, settings: Mapping[str, Setting]
) -> AskedJudge:
    from mmeval.cli.score import judge_name, log_outcome, rescore_options
    from mmeval.store.answer_draw import AnswerDraw
    from mmeval.trust.new_judge import AskedJudge

    if args.sample < 1:
        raise UsageError("--sample must be at least 1")
    asked = {**settings, "judge": Setting(values.backend(args.to), "--to")}

    def options_of(run: RunJudges) -> RescoreOptions:
        of_run = run.run.record.get("settings", {})
        return rescore_options(run.run.folder, of_run, asked)

    return AskedJudge(
        judge_name(asked), AnswerDraw(args.sample), options_of, log_outcome
    )


def _calls(
    judges: Sequence[RunJudges], old: str, trials: Mapping[str, set[str]]
) -> Iterator[tuple[str, int, CallTotals]]:
    """Yields the name of each run, its answers to judge, and what the old judge needed
    for these answers."""
    for of_run in judges:
        to_judge = trials[of_run.name]
        yield of_run.name, len(to_judge), of_run.spent(old, to_judge)


def _show(result: Bridge, old: str, new: str, form: str) -> int:
    from mmeval.trust.bridge_text import bridge_text

    if form == "json":
        document = result.to_json()
        print_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(bridge_text(result, old, new, columns()))
    return result.exit_code
