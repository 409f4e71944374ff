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
"""Why a call has no answer."""
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
RETRYABLE: frozenset[ErrorKind] = frozenset(
    ("rate_limit", "unreachable", "timeout", "connection", "server", "bad_reply")
)
"""Transport and server errors. The same request may succeed when it is sent again."""
UNANSWERED: frozenset[ErrorKind] = frozenset(
    ("rate_limit", "unreachable", "timeout", "connection")
)
"""Errors after which the server may have replied, or may still reply."""
HOPELESS: frozenset[ErrorKind] = frozenset(
    ("bad_request", "too_long", "unsupported", "bad_media", "over_limit", "refused")
)
"""Errors that the request itself causes. Sending it again would fail in the same way.
"""

MOST_TOKENS = 10**12
"""The maximum number of tokens of a call. A larger count is an error of the server."""

FinishReason = Literal["stop", "length", "refused", "error"]
"""The reason why an answer ended.

``refused`` means that the model declined, or that a filter of its service stopped it.
This is an answer, not an error, because the same request would be refused again.
"""
_FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)


def finish_reason_from(value: object) -> FinishReason:
    """Returns a recorded finish reason, or ``stop`` for an unknown value."""
    # Older journals use this name for refusals.
    if value == "content_filter":
        return "refused"
    for reason in _FINISH_REASONS:
        if reason == value:
            return reason
    return "stop"


def worst_finish(reasons: Iterable[FinishReason]) -> FinishReason:
    """Returns how an answer that consists of several replies ended.

    The result is ``refused`` if one reply was refused, else ``length`` if one was cut
    off, else ``stop``.
    """
    present = set(reasons)
    for reason in ("refused", "length"):
        if reason in present:
            return reason
    return "stop"


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The reason why a call has no answer.

    ``retry_after`` is the number of seconds that the server asks the client to wait.
    ``reply`` is the start of a reply that could not be used. It is separate from
    ``message``, so that the same fault of different replies has the same message.
    """

    kind: ErrorKind
    message: str
    retry_after: float | None = None
    reply: str = ""

    @property
    def words(self) -> str:
        """The message, followed by the start of the unusable reply."""
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
    """The cost of an answer: input and output tokens as the server counts them.

    0 means not reported. Any value that is not a whole number from 0 to ``MOST_TOKENS``
    is treated as not reported, so that sums, prices and budgets can rely on the values.
    ``batched`` is true for a request in a batch, because it costs less.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    batched: bool = False

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens"):
            count = getattr(self, name)
            # isinstance is not enough, because True and False are integers too.
            if type(count) is not int or not 0 <= count <= MOST_TOKENS:
                object.__setattr__(self, name, 0)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One call that an agent made for its answer.

    - ``path``: its position in the agent's program (``0``, ``2.1``).
    - ``role``: the role that was called.
    - ``title``: the agent's name for the step.
    - ``seconds``: its duration.
    - ``key``: its key in the journal, which has the reply.
    - ``calls``: the number of calls: 1, plus the calls of an agent that answered it.
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
    """The record of an agent's answer: its calls in order and its ``evidence``
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
    """One answer or one error. Exactly one of ``output`` and ``error`` is set.

    - ``latency``: the duration of the call in seconds.
    - ``served``: the model that the server reports.
    - ``fingerprint``: the server's name for the version of its software.
    - ``left_out``: the kinds of part that were not requested, for an answer that was
      generated outside mmeval.
    - ``unread``: the kinds of media that were sent but added no prompt tokens.
    - ``trace``: the calls of an agent. Its usage and latency are the sums of the calls.
    - ``turn``: what the server expects back in a later request. This field is ignored
      in comparisons.
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
    unread: tuple[PartKind, ...] = ()
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
        """The answer's text without hidden reasoning, or an empty string without an
        answer."""
        return self.output.text if self.output is not None else ""

    @property
    def evidence(self) -> Mapping[str, Any]:
        """The evidence that an agent reports with its answer."""
        return {} if self.trace is None else self.trace.evidence

    def media(self) -> list[Media]:
        """Returns all media that a store has to keep with the answer, in order."""
        media: list[Media] = []
        if self.output is not None:
            media.extend(self.output.media())
        if self.turn is not None:
            media.append(self.turn.items)
        return media

    def with_media(self, replaced: Callable[[Media], Media]) -> Response:
        """Returns the answer with each medium replaced by ``replaced(medium)``."""
        output, turn = self.output, self.turn
        if output is not None:
            parts = (
                part
                if part.media is None
                else replace(part, media=replaced(part.media))
                for part in output.parts
            )
            output = Interleaved(tuple(parts))
        if turn is not None:
            turn = replace(turn, items=replaced(turn.items))
        return replace(self, output=output, turn=turn)

    def as_refused(self) -> Response:
        """Returns an empty refused answer for an error of the kind ``refused``."""
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
        if self.unread:
            row["unread"] = list(self.unread)
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
            unread=tuple(row.get("unread", ())),
            trace=Trace.from_json(row["trace"]) if "trace" in row else None,
            turn=Turn.from_json(row["turn"], media_root) if "turn" in row else None,
        )


def answered(parts: Sequence[Part]) -> Response:
    """Returns a successful response with these parts."""
    return Response(output=Interleaved(tuple(parts)))
