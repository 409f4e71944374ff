"""The records that carry everything: frozen, typed, JSON both ways.

``Sample`` is what a task asks; ``Request`` and ``Response`` are one exchange with a backend; ``Trial`` is one sample
put to the model once, with every exchange it took; ``Score`` is what a metric says of a trial.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from mmeval.content import Interleaved, Part, PartKind, media_part, text_part
from mmeval.digest import DIGEST_CHARS, canonical_json
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media import Media

FORMAT_VERSION = 1
"""Version of the JSON form of these records; unknown fields of a newer one are kept, never refused."""

MessageRole = Literal["system", "user", "assistant"]

ErrorKind = Literal[
    "rate_limit",
    "unreachable",
    "timeout",
    "connection",
    "server",
    "bad_reply",
    "auth",
    "bad_request",
    "too_long",
    "unsupported",
    "out_of_memory",
    "no_answer",
    "bad_sample",
    "bad_media",
    "internal",
]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
RETRYABLE: frozenset[ErrorKind] = frozenset(
    ("rate_limit", "unreachable", "timeout", "connection", "server", "bad_reply")
)
"""Errors of the way, not of the request: the same request may succeed when it is sent again."""
HOPELESS: frozenset[ErrorKind] = frozenset(("bad_request", "too_long", "unsupported", "bad_media"))
"""Errors of the request: whoever sends it again gets the same."""

FinishReason = Literal["stop", "length", "content_filter", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    role: MessageRole
    content: Interleaved

    def to_json(self) -> dict[str, Any]:
        return {"role": self.role, "content": self.content.to_json()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Message:
        return cls(row["role"], Interleaved.from_json(row["content"], media_root))


def user(*parts: Part | Media | str) -> Message:
    """A user message from texts, media and parts, in order."""
    return message("user", *parts)


def message(role: MessageRole, *parts: Part | Media | str | Interleaved) -> Message:
    content: list[Part] = []
    for part in parts:
        if isinstance(part, Interleaved):
            content.extend(part.parts)
        elif isinstance(part, str):
            content.append(text_part(part))
        else:
            content.append(media_part(part) if isinstance(part, Media) else part)
    return Message(role, Interleaved(tuple(content)))


_GENERATION_ALIASES: Mapping[str, str] = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "until": "stop",
    "stop_sequences": "stop",
}
_OPTION_PREFIXES = ("image.", "audio.", "video.", "document.", "3d.", "code.", "text.")


@dataclass(frozen=True, slots=True)
class GenerationParams:
    """How to generate. None leaves a value to the model's own default.

    ``options`` holds what belongs to one output modality under a dotted name, such as ``image.size`` or
    ``audio.voice``; a backend refuses the options that it does not know.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> GenerationParams:
        """From ``generation_kwargs`` with the names that users know (``max_gen_toks``, ``until``, ``do_sample``).

        Raises UnknownNameError for a name that means nothing here, UsageError for a value of the wrong type or outside
        its range.
        """
        known: dict[str, Any] = {}
        options: dict[str, Any] = {}
        for name, value in values.items():
            target = _GENERATION_ALIASES.get(name, name)
            if target.startswith(_OPTION_PREFIXES):
                options[target] = value
            elif target in ("max_tokens", "temperature", "top_p", "top_k", "stop"):
                known[target] = _typed_parameter(target, value)
            elif target != "do_sample":
                names = [f.name for f in fields(cls) if f.name != "options"] + [*_GENERATION_ALIASES, "do_sample"]
                raise UnknownNameError("generation parameter", name, names)
        if not values.get("do_sample", True):
            known["temperature"] = 0.0  # whatever temperature stands beside it
        return cls(**known, options=options)

    def to_json(self) -> dict[str, Any]:
        row = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in row.items() if value not in (None, (), {})}


def _typed_parameter(name: str, value: Any) -> Any:
    try:
        if name == "stop":
            return (value,) if isinstance(value, str) else tuple(str(item) for item in value)
        number = float(value)
        if name not in ("max_tokens", "top_k"):
            return _within(name, value, _finite(number))
        if number == int(number):
            return _within(name, value, int(number))
    except (TypeError, ValueError, OverflowError):
        pass
    wanted = "words" if name == "stop" else "a whole number" if name in ("max_tokens", "top_k") else "a number"
    raise UsageError(f"generation parameter {name}={value!r}: must be {wanted}")


def _within(name: str, value: Any, number: float) -> float:
    """The number. Raises UsageError outside of what the parameter can be."""
    holds, wanted = {
        "max_tokens": (number >= 1, "at least 1"),
        "temperature": (number >= 0, "at least 0"),
        "top_p": (0 < number <= 1, "above 0 and at most 1"),
    }.get(name, (True, ""))
    if not holds:
        raise UsageError(f"generation parameter {name}={value!r}: must be {wanted}")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number


@dataclass(frozen=True)
class Request:
    """One question to a backend. ``wants`` names the kinds of part that the answer should have.

    ``seed`` is set by the broker. ``digest`` covers messages, parameters, wanted kinds and the media's bytes, nothing
    else: not the seed, not a file name, not who asks.
    """

    messages: tuple[Message, ...]
    params: GenerationParams = GenerationParams()
    wants: tuple[PartKind, ...] = ("text",)
    seed: int = 0

    @cached_property
    def digest(self) -> str:
        how = _how_digest(self.params, self.wants)
        return content_digest(how, [(m.role, m.content) for m in self.messages])

    def with_seed(self, seed: int) -> Request:
        request = Request(self.messages, self.params, self.wants, seed)
        request.__dict__["digest"] = self.digest  # the seed is no part of it
        return request

    def without_options(self, names: Collection[str]) -> Request:
        """The request without some parameters of one modality; it is still the answer to the whole that is wanted, so
        the digest stays."""
        if not names:
            return self
        options = {name: value for name, value in self.params.options.items() if name not in names}
        request = Request(self.messages, replace(self.params, options=options), self.wants, self.seed)
        request.__dict__["digest"] = self.digest
        return request

    def kinds(self) -> set[PartKind]:
        """The kinds of part that a backend must be able to read to answer."""
        return {part.kind for m in self.messages for part in m.content.parts if not part.dangling}

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": [m.to_json() for m in self.messages],
            "params": self.params.to_json(),
            "wants": list(self.wants),
            "seed": self.seed,
        }


def line_digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:DIGEST_CHARS]


def _part_rows(sample: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a sample's JSON form."""
    for message_row in sample["input"]:
        yield from message_row["content"]
    for answer in sample["references"]:
        yield from answer


def content_digest(head: bytes, contents: Sequence[tuple[str, Interleaved]]) -> str:
    """The digest of some contents, each under a word that says what it is: order, kinds, words and media bytes.

    Every field is written with its length before it, so that no two contents read alike.
    """
    fields: list[str] = []
    for word, content in contents:
        fields += (word, str(len(content.parts)))
        for part in content.parts:
            fields += (part.kind, part.raw, part.text or "", "" if part.media is None else part.media.sha256)
    sized = "".join([f"{len(item)}:{item}" for item in fields]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"%d:%b%b" % (len(head), head, sized)).hexdigest()[:DIGEST_CHARS]


_last_how: tuple[GenerationParams, tuple[PartKind, ...], bytes] | None = None


def _how_digest(params: GenerationParams, wants: tuple[PartKind, ...]) -> bytes:
    """Parameters and wanted kinds as bytes; those of the request before when they are the same objects, as a task's
    are from sample to sample."""
    global _last_how  # noqa: PLW0603  a cache of one
    last = _last_how
    if last is not None and last[0] is params and last[1] == wants:
        return last[2]
    packed = canonical_json([params.to_json(), wants])
    _last_how = (params, wants, packed)
    return packed


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a call has no answer. ``retry_after`` is what the server asked for, in seconds."""

    kind: ErrorKind
    message: str
    retry_after: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ErrorInfo:
        return cls(row["kind"], row["message"])


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost: tokens in and out as the server counts them (0: not reported)."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, or the typed reason why there is none: exactly one of ``output`` and ``error`` is set.

    ``latency`` is in seconds; ``served`` is the model that the server says it used, ``fingerprint`` what the server
    calls the state of its software behind it.
    """

    output: Interleaved | None = None
    error: ErrorInfo | None = None
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    served: str = ""
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""

    @classmethod
    def failed(cls, kind: ErrorKind, text: str, *, retry_after: float | None = None, latency: float = 0.0) -> Response:
        return cls(error=ErrorInfo(kind, text, retry_after), finish_reason="error", latency=latency)

    @property
    def text(self) -> str:
        """The answer's text without hidden reasoning; empty when there is no answer (ask ``error`` which)."""
        return self.output.text if self.output is not None else ""

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"latency": round(self.latency, 4)}
        if self.output is not None:
            row["output"] = self.output.to_json()
        if self.error is not None:
            row["error"] = self.error.to_json()
        if self.finish_reason != "stop":
            row["finish_reason"] = self.finish_reason
        if self.usage.input_tokens or self.usage.output_tokens:
            row["usage"] = [self.usage.input_tokens, self.usage.output_tokens]
        if self.served:
            row["served"] = self.served
        if self.fingerprint:
            row["fingerprint"] = self.fingerprint
        if self.warnings:
            row["warnings"] = list(self.warnings)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Response:
        output, error = row.get("output"), row.get("error")
        return cls(
            output=None if output is None else Interleaved.from_json(output, media_root),
            error=None if error is None else ErrorInfo.from_json(error),
            finish_reason=row.get("finish_reason", "stop"),
            usage=Usage(*row.get("usage", (0, 0))[:2]),
            latency=row.get("latency", 0.0),
            served=row.get("served", ""),
            warnings=tuple(row.get("warnings", ())),
            fingerprint=row.get("fingerprint", ""),
        )


@dataclass(frozen=True)
class Sample:
    """One item of a task. ``metadata`` holds labels, rubrics and whatever a metric reads; no model ever sees it.

    ``fault`` says in words why the sample cannot be put to a model, with the file and row to correct; empty for a sound
    one. Of a sample with a fault the input may be empty, and labels may be missing.
    """

    id: str
    input: tuple[Message, ...]
    references: tuple[Interleaved, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    @cached_property
    def digest(self) -> str:
        """Covers everything in the sample, the bytes of its media included: scores are tied to it."""
        from mmeval.lines import to_line  # listing tasks needs records, but no fast JSON

        row = self.to_json()
        for part in _part_rows(row):
            for place in ("path", "name"):  # where a medium lies is no part of what it is
                part.get("media", {}).pop(place, None)
        return line_digest(to_line(row))

    @property
    def has_media(self) -> bool:
        contents = (*(m.content for m in self.input), *self.references)
        return any(part.media is not None for content in contents for part in content.parts)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "input": [m.to_json() for m in self.input],
            "references": [answer.to_json() for answer in self.references],
            "metadata": self.metadata,
            **({"fault": self.fault} if self.fault else {}),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Sample:
        return cls(
            id=row["id"],
            input=tuple(Message.from_json(m, media_root) for m in row["input"]),
            references=tuple(Interleaved.from_json(answer, media_root) for answer in row["references"]),
            metadata=row["metadata"],
            fault=row.get("fault", ""),
        )


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of a trial and its reply. ``path`` is the call's place in its program, such as ``0`` or ``2.1``."""

    path: str
    role: str
    request_digest: str
    response: Response


@dataclass(frozen=True, slots=True)
class Trial:
    """One sample put to the model once: the exchanges in order and what came out of them.

    Exactly one of ``output`` and ``error`` is set. Metrics score trials.
    """

    sample: Sample
    repeat: int = 0
    exchanges: tuple[Exchange, ...] = ()
    output: Interleaved | None = None
    error: ErrorInfo | None = None

    @property
    def digest(self) -> str:
        """Names what a score of this trial depends on: the sample, what was asked and answered, and what came of it."""
        answers = [("answer", e.response.output) for e in self.exchanges if e.response.output is not None]
        if self.output is not None and not any(self.output is answer for _, answer in answers):
            answers.append(("output", self.output))
        asked = [e.request_digest if e.response.error is None else f"{e.request_digest}!" for e in self.exchanges]
        return content_digest("/".join((self.sample.digest, str(self.repeat), *asked)).encode(), answers)


ScoreStatus = Literal["scored", "unscored", "unavailable", "inapplicable"]
SCORE_STATUSES: tuple[ScoreStatus, ...] = get_args(ScoreStatus)

Cause = Literal["final", "lost", "unsure"]
"""What trying again does for an unscored trial. ``lost`` may be scored then: a verdict was lost, the scoring died or
took too long. ``final`` stays as it is: undefined, or a metric that fails on this answer. ``unsure`` stays too: the
judge has said that it is not sure."""
CAUSES: tuple[Cause, ...] = ("lost", "unsure", "final")
"""Of several causes the first of these counts: most can be done for it."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one metric says of one trial: a value with its evidence, or the reason why there is none.

    ``unscored`` is found while scoring (a lost verdict, an unreadable file); ``unavailable`` is known before the run
    (no weights, no judge). Neither is zero. ``inapplicable`` is an answer of which the metric says nothing, such as the
    quality of sound of one without sound: nothing is lost. Where a part of an unscored trial is known, such as a rubric
    with one lost verdict, ``bounds`` are the lowest and the highest value that it could have had. ``cause`` says of an
    unscored one whether trying again can help.
    """

    value: float | None = None
    status: ScoreStatus = "scored"
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    cause: Cause = "final"

    @classmethod
    def unscored(cls, reason: str, *, bounds: tuple[float, float] | None = None, **evidence: Any) -> Score:
        return cls(status="unscored", reason=reason, evidence=evidence, bounds=bounds)

    @classmethod
    def lost(cls, reason: str, *, bounds: tuple[float, float] | None = None, **evidence: Any) -> Score:
        """Unscored by what may be gone when the trial is scored again."""
        return cls(status="unscored", reason=reason, evidence=evidence, bounds=bounds, cause="lost")

    @classmethod
    def unavailable(cls, reason: str) -> Score:
        return cls(status="unavailable", reason=reason)

    @classmethod
    def inapplicable(cls, reason: str) -> Score:
        """Of an answer that holds nothing for the metric: it stands in no mean and no bounds."""
        return cls(status="inapplicable", reason=reason)

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"value": self.value, "status": self.status}
        if self.reason:
            row["reason"] = self.reason
        if self.evidence:
            row["evidence"] = self.evidence
        if self.bounds is not None:
            row["bounds"] = list(self.bounds)
        if self.cause != "final":
            row["cause"] = self.cause
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Score:
        return cls(
            value=row.get("value"),
            status=row.get("status", "scored"),
            reason=row.get("reason", ""),
            evidence=row.get("evidence", {}),
            bounds=_pair(row.get("bounds")),
            cause=row.get("cause", "final"),
        )


def _pair(values: Sequence[float] | None) -> tuple[float, float] | None:
    return None if values is None else (values[0], values[1])


@dataclass(frozen=True, slots=True)
class Result:
    """One number of a report: a metric over the trials of a task, or of one slice of it.

    ``stderr`` is the standard error of ``value``, ``ci95`` its 95 % interval; ``bounds`` are those it would have if
    everything failed or unscored were lowest, or highest (None when the metric has no finite range). Where ``value`` is
    None nothing could be scored, or scoring was ``suspended`` during the run, and what was scored until then is no fair
    part of the whole. ``clusters`` counts the independent groups of trials behind the value, ``bootstrap_iters`` the
    resamples behind its standard error (0: it comes from a formula). ``weights`` are the shares of a group's members.
    ``faulty`` are those of the ``failed`` that could not be asked because of their own data; ``inapplicable`` are the
    answers that hold nothing for the metric.
    """

    task: str
    metric: str
    value: float | None
    n: int
    scored: int
    failed: int = 0
    unscored: int = 0
    unavailable: int = 0
    unsupported: int = 0
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    slice: str = ""
    higher_is_better: bool = True
    suspended: bool = False
    clusters: int = 0
    bootstrap_iters: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    faulty: int = 0
    inapplicable: int = 0

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Result:
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in row.items() if name in known}
        return cls(**{**values, "ci95": _pair(row.get("ci95")), "bounds": _pair(row.get("bounds"))})


def answered(parts: Sequence[Part]) -> Response:
    """A sound response made of parts."""
    return Response(output=Interleaved(tuple(parts)))
