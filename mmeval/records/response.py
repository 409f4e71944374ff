"""Responses of a backend: an answer or a typed error, with its usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.records.turn import Turn

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
    "over_limit",
    "refused",
    "internal",
]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
RETRYABLE: frozenset[ErrorKind] = frozenset(
    ("rate_limit", "unreachable", "timeout", "connection", "server", "bad_reply")
)
"""Errors of transport or server: the same request may succeed when it is sent again."""
UNANSWERED: frozenset[ErrorKind] = frozenset(
    ("rate_limit", "unreachable", "timeout", "connection")
)
"""Errors after which the server may have, or may still make, the reply to that very
call."""
HOPELESS: frozenset[ErrorKind] = frozenset(
    ("bad_request", "too_long", "unsupported", "bad_media", "over_limit", "refused")
)
"""Errors of the request: the same request fails again."""

MOST_TOKENS = 10**12
"""More than any call can use."""

FinishReason = Literal["stop", "length", "refused", "error"]
"""How an answer ended. ``refused``: the model declined, or a filter of its service
stopped it. That is an answer and no error: the same request is refused again."""
_FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)


def finish_reason_from(value: object) -> FinishReason:
    """A recorded reason; ``stop`` for any unknown value."""
    # What refusals were called in older journals.
    if value == "content_filter":
        return "refused"
    for reason in _FINISH_REASONS:
        if reason == value:
            return reason
    return "stop"


def worst_finish(reasons: Iterable[FinishReason]) -> FinishReason:
    """How an answer of several replies ended.

    One reply that was refused counts for all, else one that was cut off.
    """
    found = set(reasons)
    for reason in ("refused", "length"):
        if reason in found:
            return reason
    return "stop"


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a call has no answer.

    ``retry_after`` is the server's request, in seconds. ``reply`` is the beginning of a
    reply that came and could not be used: beside the message, so that equal faults of
    different replies have equal messages.
    """

    kind: ErrorKind
    message: str
    retry_after: float | None = None
    reply: str = ""

    @property
    def words(self) -> str:
        """The message, and the reply that it is about."""
        if not self.reply:
            return self.message
        return f"{self.message}; the reply was {self.reply!r}"

    def to_json(self) -> dict[str, Any]:
        row = {"kind": self.kind, "message": self.message}
        if self.reply:
            row["reply"] = self.reply
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ErrorInfo:
        return cls(row["kind"], row["message"], reply=row.get("reply", ""))


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of an answer: tokens in and out as the server counts (0: not reported).
    ``batched``: it was asked in a batch, which costs less. What is not a whole number
    from 0 to ``MOST_TOKENS`` counts as not reported, whichever server or plugin gives
    it: sums, prices and budgets can use it."""

    input_tokens: int = 0
    output_tokens: int = 0
    batched: bool = False

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens"):
            count = getattr(self, name)
            if type(count) is not int or not 0 <= count <= MOST_TOKENS:
                object.__setattr__(self, name, 0)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One call on the way to an agent's answer.

    ``path`` is its place in the agent's program (``0``, ``2.1``), ``role`` who was
    asked, ``title`` the agent's name of the step, ``seconds`` how long it took, and
    ``key`` its name in the journal, which has the reply. ``calls`` counts it and the
    calls that an agent in its role made for the reply.
    """

    path: str
    role: str
    title: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: ErrorInfo | None = None
    key: str = ""
    calls: int = 1

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"path": self.path, "role": self.role}
        if self.title:
            row["title"] = self.title
        if self.input_tokens or self.output_tokens:
            row["tokens"] = [self.input_tokens, self.output_tokens]
        row["seconds"] = self.seconds
        if self.error is not None:
            row["error"] = self.error.to_json()
        if self.key:
            row["key"] = self.key
        if self.calls != 1:
            row["calls"] = self.calls
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> TraceStep:
        error = row.get("error")
        tokens_in, tokens_out = row.get("tokens", (0, 0))
        return cls(
            path=row["path"],
            role=row["role"],
            title=row.get("title", ""),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            seconds=row["seconds"],
            error=None if error is None else ErrorInfo.from_json(error),
            key=row.get("key", ""),
            calls=row.get("calls", 1),
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """How an agent came to its answer: its calls in order, and its own ``evidence``
    (JSON)."""

    steps: tuple[TraceStep, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return sum(step.calls for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        return {
            "steps": [step.to_json() for step in self.steps],
            "evidence": self.evidence,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Trace:
        return cls(tuple(map(TraceStep.from_json, row["steps"])), row["evidence"])


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, or why there is none: exactly one of ``output``, ``error`` is set.

    ``latency`` is in seconds; ``served`` is the model that the server reports,
    ``fingerprint`` its name for the state of its software. ``left_out`` are the kinds
    of part that an answer made elsewhere was not asked for. The answer of an agent has
    a ``trace``, and its usage and latency are the sums of its steps. ``turn`` is what
    the server wants back in a later request; answers are not compared by it.
    """

    output: Interleaved | None = None
    error: ErrorInfo | None = None
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    served: str = ""
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    left_out: tuple[PartKind, ...] = ()
    trace: Trace | None = None
    turn: Turn | None = field(default=None, compare=False)

    @classmethod
    def failed(
        cls,
        kind: ErrorKind,
        text: str,
        *,
        retry_after: float | None = None,
        latency: float = 0.0,
    ) -> Response:
        return cls(
            error=ErrorInfo(kind, text, retry_after),
            finish_reason="error",
            latency=latency,
        )

    @property
    def is_refused(self) -> bool:
        return self.finish_reason == "refused"

    @property
    def text(self) -> str:
        """The answer's text without hidden reasoning; empty when there is no answer."""
        return self.output.text if self.output is not None else ""

    @property
    def evidence(self) -> Mapping[str, Any]:
        """What an agent reports of its answer."""
        return {} if self.trace is None else self.trace.evidence

    def media(self) -> list[Media]:
        """All that a store has to keep with the answer, in order."""
        media: list[Media] = []
        if self.output is not None:
            media.extend(self.output.media())
        if self.turn is not None:
            media.append(self.turn.items)
        return media

    def with_media(self, kept: Callable[[Media], Media]) -> Response:
        """The same answer with each of its media in another place."""
        output, turn = self.output, self.turn
        if output is not None:
            parts = (
                part if part.media is None else replace(part, media=kept(part.media))
                for part in output.parts
            )
            output = Interleaved(tuple(parts))
        if turn is not None:
            turn = replace(turn, items=kept(turn.items))
        return replace(self, output=output, turn=turn)

    def as_refused(self) -> Response:
        """The refused answer without parts that an error of the kind ``refused`` is."""
        words = () if self.error is None else (self.error.message,)
        return replace(
            self,
            output=Interleaved(()),
            error=None,
            finish_reason="refused",
            warnings=(*self.warnings, *words),
        )

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
            if self.usage.batched:
                row["usage"].append(1)
        if self.served:
            row["served"] = self.served
        if self.fingerprint:
            row["fingerprint"] = self.fingerprint
        if self.warnings:
            row["warnings"] = list(self.warnings)
        if self.left_out:
            row["left_out"] = list(self.left_out)
        if self.trace is not None:
            row["trace"] = self.trace.to_json()
        if self.turn is not None:
            row["turn"] = self.turn.to_json()
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Response:
        output, error = row.get("output"), row.get("error")
        return cls(
            output=None
            if output is None
            else Interleaved.from_json(output, media_root),
            error=None if error is None else ErrorInfo.from_json(error),
            finish_reason=finish_reason_from(row.get("finish_reason", "stop")),
            usage=Usage(*row.get("usage", (0, 0))[:3]),
            latency=row.get("latency", 0.0),
            served=row.get("served", ""),
            warnings=tuple(row.get("warnings", ())),
            fingerprint=row.get("fingerprint", ""),
            left_out=tuple(row.get("left_out", ())),
            trace=Trace.from_json(row["trace"]) if "trace" in row else None,
            turn=Turn.from_json(row["turn"], media_root) if "turn" in row else None,
        )


def answered(parts: Sequence[Part]) -> Response:
    """A sound response made of parts."""
    return Response(output=Interleaved(tuple(parts)))
