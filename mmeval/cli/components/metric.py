"""Compute one metric on given files or answers.

    mmeval try metric wer --answer "the old men sat" --target "the old man sat"
    mmeval try metric strict_structure --answer "a <<image1>>" --target "<<image1>> <<audio1>>"
    mmeval try metric part_order --metadata '{"order": ["ti"]}' \\
        --answer '[{"type": "text", "text": "a hare:"}, {"type": "image", "path": "hare.png"}]'
    mmeval try metric choice --cases cases.jsonl

Answers, targets and inputs are plain text with tags, or a JSON list of parts. FILEs are
media of the answer and fill the tags of a text answer in order.

A judged metric needs a judge: --judge openai,model=m. Equal questions are sent once.
Nothing is stored. A role that the metric does not use is reported and has no effect.

Each line of a cases file is a JSON object. Its optional keys are files, answer, target,
candidates, input, params, profile and metadata; id and name are copied to the result. A
target that is a list of texts, or a list of lists of parts, contains several
references. Candidates are contents that are not part of the prompt and not right, such
as wrong pictures. Paths are relative to the folder of the cases file. Each result is a
line of JSON: value, status, reason, evidence, and outputs if the metric computes
several numbers. All lines are read before the first one is scored.

exit codes: 0 all cases were scored; 2 usage, or a line that cannot be read; 3 a case is
unscored; 4 an extra or a model is missing.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.cli.parser import Parser, add_flags
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, MissingDataError, UsageError
from mmeval.metric.device import require_device, use_device
from mmeval.report.terminal import print_text, write_line
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import Setting, resolve
from mmeval.settings.values import read_json
from mmeval.system.wording import escaped

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.authoring.metric_bench import TrialScoring
    from mmeval.authoring.metric_cases import ReadyCase
    from mmeval.metric.contract import Metric
    from mmeval.metric.result import MetricScores
    from mmeval.records.trial import Trial

_NAMES = (
    "trust_remote_code",
    "metric_device",
    "role",
    "judge",
    "judge_args",
    "judge_base_url",
    "captioner",
)
_FLAGS = tuple(BY_NAME[name] for name in _NAMES)
_OF_ONE_CASE = ("files", "answer", "target", "input", "params", "metadata")


def configure(parser: Parser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a registered metric ('mmeval ls metrics' lists them)",
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="media of the answer")
    parser.add_argument("--answer", metavar="A", help="answer to score")
    parser.add_argument(
        "--target",
        metavar="T",
        action="append",
        help="reference; may be repeated",
    )
    parser.add_argument("--input", metavar="I", help="prompt of the model")
    parser.add_argument(
        "--params", metavar="JSON", help="switches of the metric, as a JSON object"
    )
    parser.add_argument(
        "--metadata", metavar="JSON", help="labels of the sample, as a JSON object"
    )
    parser.add_argument(
        "--profile",
        metavar="P",
        default="standard",
        help="profile of the metric: standard or official (standard)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as one line of JSON"
    )
    parser.add_argument(
        "--cases",
        metavar="FILE.jsonl",
        type=Path,
        help="score each line of this file instead",
    )
    add_flags(parser, _FLAGS)
    parser.unknown_hint = (
        """; to set a switch of the metric, write --params '{"SWITCH": VALUE}'"""
    )


def run(args: argparse.Namespace) -> int:
    """Prints the result of each case. Returns 0 if all cases were scored."""
    from mmeval.authoring.metric_cases import refuse_beside_cases
    from mmeval.metric.contract import load_metric
    from mmeval.metric.signature import PIECES_SWITCH

    metric = load_metric(args.name)
    if metric.derived:
        raise UsageError(
            f"{metric.name} combines other scores of a trial, so it cannot score an "
            f"answer; list it in a task with {PIECES_SWITCH}: [NAME, ...]"
        )
    flags = {
        flag.name: getattr(args, flag.name)
        for flag in _FLAGS
        if hasattr(args, flag.name)
    }
    settings = resolve(_FLAGS, flags, os.environ)
    trust: bool = settings["trust_remote_code"].value
    use_device(settings["metric_device"].value)
    if metric.models:
        require_device(settings["metric_device"].value)
    with _scoring(metric, settings) as score:
        if args.cases is None:
            return _run_one(metric, args, score, trust=trust)
        refuse_beside_cases(args, _OF_ONE_CASE)
        # all lines are read before the first is scored or a role is called
        deque(_ready_cases(metric, args, trust=trust), maxlen=0)
        code = EXIT_OK
        cases = _ready_cases(metric, args, trust=trust)
        # a batched metric gets many cases at once
        while batch := list(islice(cases, max(metric.batch, 1))):
            for ready, scores in zip(batch, _scored(batch, score), strict=True):
                print_text(_json_line(metric, scores, ready.case.labels))
                code = max(code, _exit_code(scores))
        return code


def _scoring(
    metric: Metric, settings: Mapping[str, Setting]
) -> AbstractContextManager[TrialScoring]:
    """Prepares scoring with a metric and the roles that the metric calls.

    Other roles are reported and left out, so one command works for metrics with and
    without a judge.
    """
    from mmeval.metric.apply import score_one
    from mmeval.settings.role_flags import role_specs

    specs = role_specs(settings)
    if not metric.judged and not specs:
        return nullcontext(score_one)
    from mmeval.authoring.metric_bench import asked_specs, bench_for

    used_specs = asked_specs(metric, specs)
    for role in specs:
        if role not in used_specs:
            write_line(
                f"the metric {metric.name!r} does not use the role {role!r}, which "
                "has no effect"
            )
    return bench_for(used_specs) if metric.judged else nullcontext(score_one)


def _run_one(
    metric: Metric, args: argparse.Namespace, score: TrialScoring, *, trust: bool
) -> int:
    from mmeval.authoring.metric_cases import MetricCase, files_as_texts, ready_case

    if args.answer is None and not args.files:
        raise UsageError("the answer is missing; add FILE..., --answer or --cases")
    case = MetricCase(
        files=tuple(args.files),
        answer=args.answer,
        targets=tuple(args.target or ()),
        input=args.input,
        params=_object(args.params, "--params"),
        profile=args.profile,
        metadata=_object(args.metadata, "--metadata"),
    )
    ready = ready_case(metric, case, Path(), trust=trust)
    if ready.trial is None:
        raise MissingDataError(ready.reason)
    (scores,) = _scored([ready], score)
    write = _json_line if args.json else _lines_for_people
    print_text(write(metric, scores))
    code = _exit_code(scores)
    if code != EXIT_OK:
        texts = {
            "--target": case.targets,
            "--input": (case.input,),
            "--answer": (case.answer,),
        }
        for note in files_as_texts(texts):
            write_line(note)
    return code


def _ready_cases(
    metric: Metric, args: argparse.Namespace, *, trust: bool
) -> Iterator[ReadyCase]:
    from mmeval.authoring.metric_cases import case_lines, read_case, ready_case

    folder = args.cases.parent
    for place, values in case_lines(args.cases):
        try:
            case = read_case(values, metric, args.profile)
            ready = ready_case(metric, case, folder, place, trust=trust)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
        yield ready


def _scored(cases: Sequence[ReadyCase], score: TrialScoring) -> list[MetricScores]:
    """Scores each case. A batched metric scores all cases with equal switches at
    once."""
    results = [case.bound.unscored(case.reason) for case in cases]
    alike: dict[str, list[int]] = {}
    for position, case in enumerate(cases):
        if case.trial is None:
            continue
        if case.bound.metric.batch:
            alike.setdefault(case.bound.key, []).append(position)
            continue
        try:
            results[position] = score(case.bound, case.trial)
        except UsageError as error:
            if not case.place:
                raise
            raise UsageError(f"{case.place}: {error}") from None
        except MissingDataError as error:
            if not case.place:
                raise
            results[position] = case.bound.unscored(str(error))
    if alike:
        from mmeval.metric.apply import score_all
    for positions in alike.values():
        trials: list[Trial] = []
        for position in positions:
            trial = cases[position].trial
            assert trial is not None
            trials.append(trial)
        together = score_all(cases[positions[0]].bound, trials)
        for position, scores in zip(positions, together, strict=True):
            results[position] = scores
    return results


def _object(text: str | None, flag: str) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = read_json(text)
    except ValueError as error:
        raise UsageError(
            f'{flag}: {text!r:.80} is not JSON ({error}); write it as \'{{"NAME": '
            f"VALUE}}'"
        ) from None
    if not isinstance(value, dict):
        raise UsageError(
            f"{flag}: {text!r:.80} is not a JSON object; write it as "
            "'{\"NAME\": VALUE}'"
        )
    return value


def _exit_code(scores: MetricScores) -> int:
    """Returns the exit code of a case. An inapplicable score counts as complete."""
    for score in scores.values():
        if score.status not in ("scored", "inapplicable"):
            return EXIT_INCOMPLETE
    return EXIT_OK


def _json_line(
    metric: Metric, scores: MetricScores, labels: Mapping[str, Any] | None = None
) -> str:
    """Returns a result as a line of JSON.

    The object contains the fields of the first output. If there are several outputs,
    ``outputs`` contains the fields of each.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, score in scores.items():
        rows[name] = {
            "value": score.value,
            "status": score.status,
            "reason": score.reason,
            "evidence": score.evidence,
        }
        if score.weight != 1:
            rows[name]["weight"] = score.weight
    row: dict[str, Any] = dict(labels or {})
    row.update(rows[metric.outputs[0]])
    if len(rows) > 1:
        row["outputs"] = rows
    return json.dumps(row, ensure_ascii=False, default=str) + "\n"


def _lines_for_people(metric: Metric, scores: MetricScores) -> str:
    arrow = "↑" if metric.higher_is_better else "↓"
    lines: list[str] = []
    for name, score in scores.items():
        if score.value is None:
            lines.append(f"{name}: {score.status}: {score.reason}")
        else:
            lines.append(f"{name}: {score.value:.6g} {arrow}")
        if score.bounds is not None:
            lines.append(f"  between {score.bounds[0]:.6g} and {score.bounds[1]:.6g}")
        for key, value in score.evidence.items():
            text = value
            if not isinstance(value, str):
                text = json.dumps(value, ensure_ascii=False, default=str)
            lines.append(f"  {key}: {text}")
    return escaped("\n".join(lines)) + "\n"
