"""Turns the flags of ``mmeval try metric``, or the lines of a cases file, into
trials."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mmeval.errors import (
    ContentError,
    MissingDataError,
    MmevalError,
    UnknownNameError,
    UsageError,
)
from mmeval.findings.render import NOWHERE, causes
from mmeval.media.decode import document_text
from mmeval.media.media import Media, may_be
from mmeval.media.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.media.written import ContentReader
from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import Metric
from mmeval.metric.profiles import PROFILES
from mmeval.records.sample import Message, Sample
from mmeval.records.trial import Trial
from mmeval.system.foreign_lines import lines_of

T = TypeVar("T")


def case_lines(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields each line of a cases file with its position in the file. Raises
    UsageError."""

    if not file.is_file():
        raise UsageError(f"{file}: this cases file does not exist")
    for line in lines_of(file, kind=None):
        yield line.place, line.row


@dataclass(frozen=True)
class MetricCase:
    """One answer to score, as written by the user. ``labels`` are returned with the
    result."""

    files: tuple[str, ...] = ()
    answer: Any = None
    targets: tuple[Any, ...] = ()
    candidates: tuple[Any, ...] = ()
    input: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "standard"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)


class ReadyCase(NamedTuple):
    """A case with its metric and its trial. If there is no trial, ``reason`` names the
    missing file. ``place`` is the case's line in a cases file."""

    case: MetricCase
    bound: BoundMetric
    trial: Trial | None
    place: str = ""
    reason: str = ""


_TYPE_NAMES = {"list": "a list", "dict": "an object", "str": "a string"}
_CASE_KEYS = (
    "files",
    "answer",
    "target",
    "candidates",
    "input",
    "params",
    "profile",
    "metadata",
    "id",
    "name",
)


def read_case(
    values: Any,
    metric: Metric,
    profile: str = "standard",
) -> MetricCase:
    """Parses one line of a cases file. Raises UsageError for an invalid line."""
    check_keys(values, _CASE_KEYS)
    params = dict(typed(values, "params", dict) or {})
    # the input may be among the parameters, unless it is a switch of the metric
    params_input = None
    if "input" not in metric.switches:
        params_input = params.pop("input", None)
    # a list of texts or lists is several references; a list of parts is one
    target = values.get("target")
    targets: tuple[Any, ...] = ()
    if isinstance(target, list) and not _are_parts(target):
        targets = tuple(target)
    elif target not in (None, []):
        targets = (target,)
    return MetricCase(
        files=tuple(map(str, typed(values, "files", list) or ())),
        answer=values.get("answer"),
        targets=targets,
        candidates=tuple(typed(values, "candidates", list) or ()),
        input=values.get("input") if params_input is None else params_input,
        params=params,
        profile=typed(values, "profile", str) or profile,
        metadata=typed(values, "metadata", dict) or {},
        labels={key: values[key] for key in ("id", "name") if key in values},
    )


def check_keys(values: Any, keys: Sequence[str]) -> None:
    """Raises UsageError for a case that is not an object, or has an unknown key."""
    if not isinstance(values, dict):
        raise UsageError(
            "a case must be an object with any of the keys " + ", ".join(keys)
        )
    for key in values:
        if key not in keys:
            raise UnknownNameError("key of a case", key, keys)


def refuse_beside_cases(args: argparse.Namespace, flags: Sequence[str]) -> None:
    """Raises UsageError for a flag that cannot be used with ``--cases``."""
    for flag in flags:
        if getattr(args, flag):
            name = "FILE" if flag == "files" else f"--{flag}"
            raise UsageError(
                f"{name} cannot be used with --cases; write it in the file"
            )


def typed(
    values: Mapping[str, Any],
    key: str,
    kind: type[T],
) -> T | None:
    value = values.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise UsageError(f"{key} is {value!r:.80}, not {_TYPE_NAMES[kind.__name__]}")


def ready_case(
    metric: Metric,
    case: MetricCase,
    folder: Path,
    place: str = "",
    *,
    trust: bool = False,
) -> ReadyCase:
    """Binds the metric of a case and reads the media of the case. Paths in the case are
    relative to ``folder``. ``trust`` is the user's consent to run code that the case
    names.

    Raises UsageError for content that cannot be read, UnknownNameError for a switch or
    profile, MissingExtraError for a package that is not installed, and MissingDataError
    for a missing model.
    """

    known = dict.fromkeys((*PROFILES, *metric.profiles))
    if case.profile not in known:
        raise UnknownNameError("profile", case.profile, known)
    switches = metric.consented(metric.placed(case.params, folder), trust=trust)
    bound = bind(metric, switches, case.profile)
    for missing in bound.missing():
        raise missing
    for finding in bound.lacks(metric.roles):
        if finding.kind == "missing_weights":
            switches_text = ", ".join(
                f'"{name}": "./FOLDER"' for name, _ in bound.missing_models()
            )
            advice = f"give its folder: --params '{{{switches_text}}}'"
            if finding.remedy:
                advice += f", or download it: {NOWHERE.command(finding.remedy)}"
            raise MissingDataError(f"{metric.name}: {causes([finding])}; {advice}")
    try:
        return ReadyCase(case, bound, trial_of(case, folder, metric.looks_at), place)
    except MissingDataError as error:
        return ReadyCase(case, bound, None, place, str(error))


def files_as_texts(texts_by_flag: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    """Yields a note for each flag whose text is also the name of a file. The note
    explains how to pass the file itself."""

    for flag, texts in texts_by_flag.items():
        for text in texts:
            if not isinstance(text, str):
                continue
            try:
                media = Media.from_path(Path(text))
            # the file does not exist, or the text cannot be a path
            except (OSError, ValueError, MmevalError):
                continue
            part = {"type": media.kind, "path": text}
            written = json.dumps([part], ensure_ascii=False)
            yield (
                f"note: {flag} {text} is used as text; to use the file of this name, "
                f"write {flag} '{written}'"
            )


def trial_of(
    case: MetricCase,
    folder: Path,
    looks_at: PartKind | None = None,
) -> Trial:
    """Makes the trial of a case. If the case has neither an answer nor files, the trial
    has no output. Each file gets a kind that the metric ``looks_at``, if possible: a
    page can be a picture, code can be text, and a damaged file can be any kind."""

    reader = ContentReader(lambda path, _: medium_at(folder, path))

    def content(written: Any, where: str) -> Interleaved:
        return reader.read(_written(written), where)

    prompt: tuple[Message, ...] = ()
    if case.input is not None:
        prompt = (Message("user", content(case.input, "input")),)
    targets = tuple(content(target, "target") for target in case.targets)
    candidates = tuple(content(item, "candidates") for item in case.candidates)
    sample = Sample("case", prompt, targets, case.metadata, candidates=candidates)

    answer = _written(case.answer)
    parts = [_part(medium_at(folder, name), looks_at) for name in case.files]
    if answer is None and not parts:
        output = None
    elif answer is None:
        output = Interleaved(tuple(parts))
    elif isinstance(answer, str) and parts:
        output = Interleaved.from_reply(answer, parts)
    elif isinstance(answer, str):
        output = Interleaved.from_text(answer)
    else:
        output = Interleaved((*reader.read(answer, "answer").parts, *parts))
    return Trial(sample, output=output)


def _part(media: Media, looks_at: PartKind | None) -> Part:
    if looks_at is None:
        return media_part(media)
    if media.kind != "document" and not may_be(looks_at, media.mime):
        return media_part(media)
    if looks_at != "text":
        return media_part(media, looks_at)
    try:
        return text_part(document_text(media))
    except ContentError as error:
        raise UsageError(f"{error}; the metric scores text") from None


def medium_at(folder: Path, name: str) -> Media:
    """Reads a file that the user names as a medium."""

    try:
        return Media.from_path(folder / name)
    except (OSError, ValueError):  # the name is too long, or contains a null character
        raise UsageError(f"{name[:80]!r} is not a path") from None


def _written(value: Any) -> Any:
    """Parses a string that contains a JSON list of parts. Returns any other value
    unchanged."""
    if not isinstance(value, str) or '"type"' not in value:
        return value
    text = value.lstrip()
    if not text.startswith("["):
        return value
    try:
        parts = json.loads(value)
    except ValueError:
        if text.startswith('[{"type"'):
            raise UsageError(f"a list of parts must be JSON: {value[:80]}") from None
        return value
    return parts if _are_parts(parts) else value


def _are_parts(items: list[Any]) -> bool:
    return all(isinstance(item, dict) and "type" in item for item in items)
