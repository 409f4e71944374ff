"""Compare runs: their differences, the uncertainty, and the samples that differ.

    mmeval compare runs/old-model/default runs/new-model/default
    mmeval compare runs/old-model/default runs/new-model/default --fail_if_worse 0.02
    mmeval compare runs/default.board.yaml
    mmeval compare runs/a/default runs/b/default --pairwise \\
        --judge openai,model=JUDGE --sample 60

The first RUN is the reference. A difference is another run's value minus the
reference's value. Trials are paired by sample and prompt. No model is called, and the
runs are not changed.

With --pairwise, a judge compares the answers of every two runs to the same samples. It
is asked about each pair in both orders; if they differ, the pair is a tie. The runs get
win rates, and strengths (Bradley-Terry) with 95 % intervals. The same command continues
after an interruption. The verdicts are kept in the folder of the first run, as
pairs/NAME.

The exit code is 3 if something requested cannot be compared, such as strengths that the
pairs do not determine. It is 5 if a run is worse than a gate (--fail_if_worse,
--fail_unless_within, --fail_unless_equal) allows.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.cli.bridge import FLAGS as BRIDGE_FLAGS
from mmeval.cli.parser import add_flags
from mmeval.cli.score import FLAGS as SCORE_FLAGS
from mmeval.errors import EXIT_OK, MissingDataError, UsageError, did_you_mean
from mmeval.findings.render import terminal_lines
from mmeval.report.terminal import columns, print_text
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting, resolve
from mmeval.system.wording import split_names

if TYPE_CHECKING:
    from mmeval.comparison.compare import Comparison
    from mmeval.run.options import RescoreOptions, RunOutcome
    from mmeval.trust.pairwise.answer_pairs import AnswerPair
    from mmeval.trust.pairwise.pair_judge import PairJudge
    from mmeval.trust.pairwise.players import Player

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
_PLANNED = ("plan", "margin", "clusters", "share", "disagree")
_OF_PAGE = ("output_path", "report")
_ALSO_PAIRWISE = ("tasks", "failed")
_NOT_PAIRWISE = (*set(OPTIONS).difference(_ALSO_PAIRWISE), *_PLANNED, *_OF_PAGE)
"""The flags without an effect on pairwise comparisons."""
_NOT_OF_A_PAIR = ("role", "profile", "trust_remote_code", "dry_run", "verbosity")
FLAGS = (
    BY_NAME["judge"],
    *(flag for flag in BRIDGE_FLAGS if flag.name not in _NOT_OF_A_PAIR),
)
"""The flags of ``score`` that say how the judge of pairs is asked."""
_ONLY_PAIRWISE = ("sample", "rubric", "ties", "dry_run")


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
    parser.add_argument(
        "--pairwise",
        action="store_true",
        help="let a judge compare the answers of every two runs",
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=int,
        default=None,
        help="with --pairwise: compare the answers to N samples, drawn at random (all)",
    )
    parser.add_argument(
        "--rubric",
        metavar="FILE",
        type=Path,
        default=None,
        help="with --pairwise: a text by which the judge compares answers",
    )
    parser.add_argument(
        "--ties",
        metavar="HOW",
        default=None,
        help="with --pairwise: how ties enter the strengths: davidson, half or forced "
        "(davidson)",
    )
    parser.add_argument(
        "--dry_run",
        action="store_true",
        default=None,
        help="with --pairwise: print the calls of the judge, and exit",
    )
    add_flags(parser, FLAGS)
    unset = {name: parser.get_default(name) for name in _NOT_PAIRWISE}
    parser.set_defaults(unset=unset)


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

    if args.pairwise:
        return _pairwise(args)
    _refuse_pairwise_flags(args)
    if args.plan:
        return _plan(args)
    for name in ("margin", "clusters", "share", "disagree"):
        if getattr(args, name) is not None:
            raise UsageError(
                f"--{name} needs --plan; to set the margin of a gate, use "
                "--fail_if_worse, --fail_unless_within or --fail_unless_equal",
                name=name,
            )
    _check_choice("format", args.format, FORMATS)
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


def _pairwise(args: argparse.Namespace) -> int:
    """Prints the pairwise comparison, or the calls that it needs."""
    from mmeval.trust.pairs.judgements import TIES
    from mmeval.trust.pairwise.answer_pairs import pair_answers
    from mmeval.trust.pairwise.pairwise import Pairwise
    from mmeval.trust.pairwise.pairwise_text import pairwise_text
    from mmeval.trust.pairwise.players import players_of, shared_tasks

    for name, default in args.unset.items():
        if getattr(args, name) != default:
            raise UsageError(f"--{name} has no effect with --pairwise", name=name)
    ties = args.ties or TIES[0]
    _check_choice("format", args.format, ("text", "json"))
    _check_choice("ties", ties, TIES)
    _check_choice("failed", args.failed, ("lost", "zero"))
    names = {flag.name for flag in FLAGS}
    given = {name: value for name, value in vars(args).items() if name in names}
    settings = resolve(SCORE_FLAGS, given, os.environ)

    players = players_of(args.folders)
    tasks = shared_tasks(players, split_names(args.tasks))
    paired = pair_answers(players, tasks, args.failed)
    if not paired.pairs:
        raise UsageError("the runs have no answers to the same questions")
    judge = _pair_judge(args, settings, players, paired.pairs)
    if args.dry_run:
        print_text(_pair_calls(judge, settings))
        return EXIT_OK
    result = Pairwise(
        judge=judge.settings.name,
        runs={player.name: player.folders for player in players},
        comparisons=judge.ask(),
        left_out=paired.left_out,
        ties=ties,
    )
    log.info("verdicts, for mmeval agree: %s", judge.keep(result))
    if args.format == "json":
        print_text(json.dumps(result.to_json(), indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(pairwise_text(result, columns()))
    return judge.exit_code or result.exit_code


def _refuse_pairwise_flags(args: argparse.Namespace) -> None:
    for name in (*_ONLY_PAIRWISE, *(flag.name for flag in FLAGS)):
        if getattr(args, name, None) is not None:
            raise UsageError(f"--{name} needs --pairwise", name=name)


def _check_choice(flag: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(
            f"--{flag} must be one of {', '.join(known)}, not "
            f"{value!r}{did_you_mean(value, known)}"
        )


def _pair_judge(
    args: argparse.Namespace,
    settings: Mapping[str, Setting],
    players: Sequence[Player],
    pairs: Sequence[AnswerPair],
) -> PairJudge:
    from mmeval.cli.score import judge_name, log_outcome, rescore_options
    from mmeval.store.answer_draw import AnswerDraw
    from mmeval.trust.pairwise.pair_judge import JudgeSettings, PairJudge

    if not settings["judge"].value:
        raise UsageError("name the judge of pairs with --judge")
    if args.sample is not None and args.sample < 1:
        raise UsageError("--sample must be at least 1")

    def options_of(folder: Path) -> RescoreOptions:
        return rescore_options(folder, {}, settings)

    def report(outcome: RunOutcome) -> None:
        # this command asks again for lost verdicts, and then ranks the runs
        findings = []
        for finding in outcome.findings:
            is_score = finding.remedy.startswith("mmeval score ")
            findings.append(replace(finding, remedy="") if is_score else finding)
        log_outcome(replace(outcome, findings=tuple(findings)))

    of_judge = JudgeSettings(
        name=judge_name(settings),
        options_of=options_of,
        draw=None if args.sample is None else AnswerDraw(args.sample),
        report=report,
    )
    rubric = "" if args.rubric is None else _rubric(args.rubric)
    return PairJudge(players[0].runs[0], pairs, of_judge, rubric)


def _rubric(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        raise MissingDataError(f"there is no file {file}", file=file) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read ({error})", file=file) from None
    if not text:
        raise UsageError(f"{file} is empty; write the rubric there", file=file)
    return text


def _pair_calls(judge: PairJudge, settings: Mapping[str, Setting]) -> str:
    """Returns the text of a dry run."""
    from mmeval.forecast.estimate import TokenRange
    from mmeval.run.costs.prices import load_prices
    from mmeval.store.spending import CallTotals
    from mmeval.trust.pairwise.pairwise_text import pair_calls_text

    load = judge.calls_to_make()
    name = judge.settings.name
    price = load_prices(settings["model_cost_config"].value).of_model(name)
    dollars = None
    if price is not None:
        costs = []
        for end in ("low", "high"):
            totals = CallTotals(
                answered=round(load.calls),
                input_tokens=round(getattr(load.tokens_in, end)),
                output_tokens=round(getattr(load.tokens_out, end)),
            )
            costs.append(price.cost(totals))
        dollars = TokenRange(*costs)
    return pair_calls_text(load, name, len(judge.drawn), dollars, columns())


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
