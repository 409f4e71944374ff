"""Compute one metric on given files or answers.

    mmeval metric wer --answer "the old men sat" --target "the old man sat"
    mmeval metric strict_structure --answer "a <<image1>>" --target "<<image1>> <<audio1>>"
    mmeval metric part_order --metadata '{"order": ["ti"]}' \\
        --answer '[{"type": "text", "text": "a hare:"}, {"type": "image", "path": "hare.png"}]'
    mmeval metric choice --cases cases.jsonl

Answers, targets and inputs are plain text with tags, or a JSON list of parts. FILEs are media of the answer; they
fill the tags of a text answer in order.

A judged metric asks a judge: --judge openai,model=m. Equal questions are asked once; nothing is kept.

Each line of a cases file is a JSON object with any of files, answer, target, input, params, profile and metadata; id
and name are handed back. A list of texts, or of lists of parts, as target means several references. Relative paths
start from the folder of the cases file. One JSON result a line: value, status, reason, evidence, and outputs for a
metric that gives several numbers.

exit codes: 0 all were scored; 2 usage, or a line that cannot be read; 3 something is unscored; 4 an extra is missing.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mmeval.cli.flags import BY_NAME
from mmeval.cli.parser import Parser, add_flags
from mmeval.cli.settings import Setting, resolve
from mmeval.cli.streams import print_text
from mmeval.cli.values import read_json
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, MissingDataError, UnknownNameError, UsageError
from mmeval.profiles import PROFILES
from mmeval.report.terminal import escaped

if TYPE_CHECKING:  # imported when the verb runs, so that its help stays quick
    from mmeval.content import Interleaved
    from mmeval.loaders.written import ContentReader
    from mmeval.media import Media
    from mmeval.metric import BoundMetric, Metric, MetricScores
    from mmeval.records import Trial

T = TypeVar("T")

_FLAGS = tuple(
    BY_NAME[name] for name in ("trust_remote_code", "role", "judge", "judge_args", "judge_base_url", "captioner")
)

Scoring = Callable[["BoundMetric", "Trial"], "MetricScores"]
"""How a trial is scored: by the metric alone, or by whom it asks."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a registered metric ('mmeval ls metrics' lists them)")
    parser.add_argument("files", metavar="FILE", nargs="*", help="media of the answer")
    parser.add_argument("--answer", metavar="A", help="the answer to score")
    parser.add_argument("--target", metavar="T", action="append", help="a reference; may be given several times")
    parser.add_argument("--input", metavar="I", help="what the model was asked")
    parser.add_argument("--params", metavar="JSON", help="the metric's switches, as a JSON object")
    parser.add_argument("--metadata", metavar="JSON", help="the sample's labels, as a JSON object")
    parser.add_argument("--profile", metavar="P", default="standard", help="standard (default) or official")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    parser.add_argument("--cases", metavar="FILE.jsonl", type=Path, help="score each line of a file instead")
    add_flags(parser, _FLAGS)
    if isinstance(parser, Parser):
        parser.unknown_hint = """; a switch of the metric is given as --params '{"SWITCH": VALUE}'"""


def run(args: argparse.Namespace) -> int:
    """Print the result, or one a line; the exit code says whether all were scored."""
    from mmeval.metric import load_metric

    metric = load_metric(args.name)
    for missing in metric.missing():
        raise missing
    given = {flag.name: getattr(args, flag.name) for flag in _FLAGS if hasattr(args, flag.name)}
    settings = resolve(_FLAGS, given, os.environ)
    trust: bool = settings["trust_remote_code"].value
    with _scoring(metric, settings) as score:
        if args.cases is None:
            return _run_one(metric, args, score, trust=trust)
        _refuse_single_flags(args)
        return _run_cases(metric, args.cases, args.profile, score, trust=trust)


@contextmanager
def _scoring(metric: Metric, settings: Mapping[str, Setting]) -> Iterator[Scoring]:
    from mmeval.cli.roleflags import role_specs
    from mmeval.metric import BoundMetric

    specs = role_specs(settings)
    if not metric.judged and not specs:
        yield BoundMetric.score
        return
    from mmeval.cli.bench import bench_for

    with bench_for(metric, specs) as bench:
        yield bench.score


def _run_one(metric: Metric, args: argparse.Namespace, score: Scoring, *, trust: bool) -> int:
    if args.answer is None and not args.files:
        raise UsageError("nothing to score: give FILE..., --answer or --cases")
    case = Case(
        files=tuple(args.files),
        answer=args.answer,
        targets=tuple(args.target or ()),
        input=args.input,
        params=_object(args.params, "--params"),
        profile=args.profile,
        metadata=_object(args.metadata, "--metadata"),
    )
    scores = score_case(metric, case, Path(), score, trust=trust)
    write = _json_line if args.json else _lines_for_people
    print_text(write(metric, scores))
    return _exit_code(scores)


def _run_cases(metric: Metric, file: Path, profile: str, score: Scoring, *, trust: bool) -> int:
    code = EXIT_OK
    for place, values in _case_lines(file):
        try:
            case = read_case(values, metric, profile)
            scores = _score_or_say(metric, case, file.parent, score, trust=trust)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
        print_text(_json_line(metric, scores, case.labels))
        code = max(code, _exit_code(scores))
    return code


def _case_lines(file: Path) -> Iterator[tuple[str, Any]]:
    from mmeval.loaders.row_files import read_jsonl

    if not file.is_file():
        raise UsageError(f"{file}: no such file of cases")
    for row in read_jsonl(file):
        yield f"{row.file}:{row.number}", row.values


def _refuse_single_flags(args: argparse.Namespace) -> None:
    for flag in ("files", "answer", "target", "input", "params", "metadata"):
        if getattr(args, flag):
            raise UsageError(
                f"{'FILE' if flag == 'files' else f'--{flag}'} does not go with --cases; write it into the file"
            )


@dataclass(frozen=True)
class Case:
    """One thing to score, still as it was written. ``labels`` are handed back with the result."""

    files: tuple[str, ...] = ()
    answer: Any = None
    targets: tuple[Any, ...] = ()
    input: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "standard"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)


_CASE_KEYS = ("files", "answer", "target", "input", "params", "profile", "metadata", "id", "name")


def read_case(values: Any, metric: Metric, profile: str = "standard") -> Case:
    """One line of a cases file. Raises UsageError that says what is wrong with it."""
    if not isinstance(values, dict):
        raise UsageError("a case is an object with any of " + ", ".join(_CASE_KEYS))
    for key in values:
        if key not in _CASE_KEYS:
            raise UnknownNameError("key of a case", key, _CASE_KEYS)
    params = dict(_typed(values, "params", dict) or {})
    # The input may stand among the parameters too, unless it is a switch of the metric.
    beside = params.pop("input", None) if "input" not in metric.switches else None
    return Case(
        files=tuple(map(str, _typed(values, "files", list) or ())),
        answer=values.get("answer"),
        targets=_targets(values.get("target")),
        input=values.get("input") if beside is None else beside,
        params=params,
        profile=_typed(values, "profile", str) or profile,
        metadata=_typed(values, "metadata", dict) or {},
        labels={key: values[key] for key in ("id", "name") if key in values},
    )


def _typed(values: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    value = values.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise UsageError(f"{key} is {value!r:.80}, not {_TYPE_NAMES[kind.__name__]}")


_TYPE_NAMES = {"list": "a list", "dict": "an object", "str": "a text"}


def _targets(written: Any) -> tuple[Any, ...]:
    """The references: one, or several when a list holds texts or lists instead of parts."""
    if written is None or written == []:
        return ()
    if isinstance(written, list) and not all(isinstance(item, dict) and "type" in item for item in written):
        return tuple(written)
    return (written,)


def score_case(
    metric: Metric, case: Case, folder: Path, score: Scoring | None = None, *, trust: bool = False
) -> MetricScores:
    """The scores of a case whose paths start from ``folder``. ``score`` is how a judged metric is scored; ``trust`` is
    the user's consent to run code that the case names.

    Raises UsageError for content that cannot be read, UnknownNameError for a switch or profile, MissingDataError for a
    file that is not there.
    """
    known = dict.fromkeys((*PROFILES, *metric.profiles))
    if case.profile not in known:
        raise UnknownNameError("profile", case.profile, known)
    params = metric.consented(metric.placed(case.params, folder), trust=trust)
    bound = metric.bind(params, case.profile)
    return (score or type(bound).score)(bound, trial_of(case, folder))


def _score_or_say(metric: Metric, case: Case, folder: Path, score: Scoring, *, trust: bool) -> MetricScores:
    """As ``score_case``; a file that is not there leaves the case unscored, with the reason."""
    try:
        return score_case(metric, case, folder, score, trust=trust)
    except MissingDataError as error:
        return metric.bind().unscored(str(error))


def trial_of(case: Case, folder: Path) -> Trial:
    """The trial that a case describes; without answer and files it has no output."""
    from mmeval.loaders.written import ContentReader
    from mmeval.records import Message, Sample, Trial

    reader = ContentReader(lambda path, _: _media(folder, path))
    asked = () if case.input is None else (Message("user", reader.read(_written(case.input), "input")),)
    targets = tuple(reader.read(_written(item), "target") for item in case.targets)
    return Trial(Sample("case", asked, targets, case.metadata), output=_output(case, folder, reader))


def _output(case: Case, folder: Path, reader: ContentReader) -> Interleaved | None:
    from mmeval.content import Interleaved, media_part

    media = [_media(folder, name) for name in case.files]
    answer = _written(case.answer)
    if answer is None:
        return Interleaved(tuple(map(media_part, media))) if media else None
    if isinstance(answer, str):
        return Interleaved.from_reply(answer, media) if media else Interleaved.from_text(answer)
    return Interleaved((*reader.read(answer, "answer").parts, *map(media_part, media)))


def _media(folder: Path, name: str) -> Media:
    """A file that the caller names: it is theirs, so it may lie anywhere."""
    from mmeval.media import Media

    try:
        return Media.from_path(folder / name)
    except (OSError, ValueError):  # too long, or with a null character
        raise UsageError(f"{name[:80]!r} is no path") from None


def _written(value: Any) -> Any:
    """A text as it is, unless it spells a JSON list of parts."""
    if not isinstance(value, str) or not value.lstrip().startswith("[") or '"type"' not in value:
        return value
    try:
        parts = json.loads(value)
    except ValueError:
        if value.lstrip().startswith('[{"type"'):
            raise UsageError(f"this list of parts is no JSON: {value[:80]}") from None
        return value
    return parts if all(isinstance(part, dict) and "type" in part for part in parts) else value


def _object(text: str | None, flag: str) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = read_json(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {text!r:.80} is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise UsageError(f'{flag}: {text!r:.80} is no JSON object such as {{"name": "value"}}')
    return value


def _exit_code(scores: MetricScores) -> int:
    return EXIT_OK if all(score.status == "scored" for score in scores.values()) else EXIT_INCOMPLETE


def _json_line(metric: Metric, scores: MetricScores, labels: Mapping[str, Any] | None = None) -> str:
    """A result as JSON: the fields are those of the first output, ``outputs`` has all when there are several."""
    rows = {
        name: {"value": score.value, "status": score.status, "reason": score.reason, "evidence": score.evidence}
        for name, score in scores.items()
    }
    row: dict[str, Any] = {**(labels or {}), **rows[metric.outputs[0]]}
    if len(rows) > 1:
        row["outputs"] = rows
    return json.dumps(row, ensure_ascii=False, default=str) + "\n"


def _lines_for_people(metric: Metric, scores: MetricScores) -> str:
    arrow = "↑" if metric.higher_is_better else "↓"
    lines: list[str] = []
    for name, score in scores.items():
        said = f"{score.value:.6g} {arrow}" if score.value is not None else f"{score.status}: {score.reason}"
        lines.append(f"{name}: {said}")
        if score.bounds is not None:
            lines.append(f"  between {score.bounds[0]:.6g} and {score.bounds[1]:.6g}")
        lines += [f"  {key}: {_short(value)}" for key, value in score.evidence.items()]
    return escaped("\n".join(lines)) + "\n"


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, str) else value
