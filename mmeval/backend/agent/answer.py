"""Runs the program of an agent and turns its result into a response with a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mmeval.backend.agent.limits import USUAL_LIMITS, AnswerLimits
from mmeval.errors import raised_at
from mmeval.media.parts import Interleaved
from mmeval.program.calls import Call, CallFailed, Program, Reply, next_calls
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo, Response, Trace, TraceStep, Usage
from mmeval.system.json_lines import from_line, to_line


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of an agent.

    ``evidence`` is JSON that explains the answer. The evidence and the ``warnings`` are
    stored with the answer. If there is an ``error``, the answer is a failure, and
    ``content`` is ignored.
    """

    content: Interleaved
    evidence: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    error: ErrorInfo | None = None


AgentProgram: TypeAlias = Program[Interleaved | AgentAnswer]
"""A generator that yields calls and returns the answer of an agent."""


def driven(
    program: AgentProgram,
    *,
    asks: Collection[str],
    params: Mapping[str, GenerationParams],
    limits: AnswerLimits = USUAL_LIMITS,
) -> Program[Response]:
    """Runs an agent's program. Returns a response that records each of its steps.

    ``asks`` are the roles that the program may call. ``params`` are the user's
    parameters for these roles. The user's parameters override those of a call. If the
    program breaks its contract, the response is a failure.
    """
    # The limits depend only on the replies, not on time, so a replay ends the same way.
    steps: list[TraceStep] = []
    warnings: dict[str, None] = {}
    calls, tokens = 0, 0
    sent: Reply | list[Reply] | None = None

    def failed(error: ErrorInfo) -> Response:
        return _response(AgentAnswer(Interleaved(), error=error), steps, warnings)

    while True:
        try:
            yielded = next_calls(program, sent)
        except StopIteration as stop:
            return _response(stop.value, steps, warnings)
        except CallFailed as lost:
            return failed(lost.error)
        # An agent is user code: it may raise any exception or call sys.exit.
        except (Exception, SystemExit) as raised:
            place = raised_at(raised, __file__)
            message = f"{type(raised).__name__}: {raised}{place}"
            return failed(ErrorInfo("internal", message))
        step_calls = [yielded] if isinstance(yielded, Call) else yielded
        error = _fault(step_calls, asks)
        if error is None:
            error = _over(limits, calls + len(step_calls), tokens)
        if error is not None:
            # The cleanup of an agent may also raise any exception or call sys.exit.
            with contextlib.suppress(Exception, SystemExit):
                program.close()
            return failed(error)
        overlaid: list[Call] = []
        for call in step_calls:
            overrides, request = params.get(call.role), call.request
            if overrides is not None and overrides is not request.params:
                request = replace(request, params=request.params.overlaid(overrides))
                call = replace(call, request=request)  # noqa: PLW2901
            overlaid.append(call)
        replies: list[Reply]
        if isinstance(yielded, Call):
            reply: Reply = yield overlaid[0]
            sent, replies = reply, [reply]
        else:
            replies = yield overlaid
            sent = replies
        for call, reply in zip(step_calls, replies, strict=True):
            step = _step(call, reply)
            steps.append(step)
            warnings.update(dict.fromkeys(reply.response.warnings))
            calls += step.calls
            tokens += step.input_tokens + step.output_tokens


def _fault(calls: object, asks: Collection[str]) -> ErrorInfo | None:
    """Returns the fault of the calls that an agent yields, or None if there is none."""
    for call in calls if isinstance(calls, Sequence) else [calls]:
        if not isinstance(call, Call):
            return ErrorInfo(
                "internal",
                f"the agent yielded {type(calls).__name__}, not a call or a list of "
                "calls",
            )
        if call.role not in asks:
            return ErrorInfo(
                "internal",
                f"the agent called the role {call.role!r}, which is not one of its "
                "arguments",
            )
    return None


def _over(
    limits: AnswerLimits,
    calls: int,
    tokens: int,
) -> ErrorInfo | None:
    """Returns an error if calls or tokens exceed the limits of an answer, else None."""
    if calls > limits.calls:
        return ErrorInfo(
            "over_limit",
            f"the answer needs more than {limits.calls:,} calls "
            "(--max_calls_per_answer)",
        )
    if limits.tokens is not None and tokens >= limits.tokens:
        return ErrorInfo(
            "over_limit",
            f"the answer used {tokens:,} tokens, but only {limits.tokens:,} are "
            "allowed (--max_tokens_per_answer)",
        )
    return None


def _step(call: Call, reply: Reply) -> TraceStep:
    response = reply.response
    return TraceStep(
        path=reply.path,
        role=call.role,
        title=call.title,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        seconds=round(response.latency, 4),  # rounded as in the journal
        error=response.error,
        key=reply.key,
        calls=1 if response.trace is None else 1 + response.trace.calls,
    )


def _response(
    result: object, steps: Sequence[TraceStep], warnings: Mapping[str, None]
) -> Response:
    """Turns the result of an agent into a response, with the sums over its steps."""
    if isinstance(result, Interleaved):
        answer = AgentAnswer(result)
    elif isinstance(result, AgentAnswer) and isinstance(result.content, Interleaved):
        answer = result
    else:
        answer = _unusable(f"the agent returned {type(result).__name__}, not an answer")
    evidence: Mapping[str, Any] = {}
    try:
        evidence = from_line(to_line(answer.evidence))
        warnings = {**warnings, **dict.fromkeys(map(str, answer.warnings))}
        is_usable = isinstance(evidence, dict)
    # The evidence may not be JSON, and a warning's __str__ may raise any exception.
    except Exception:
        is_usable = False
    if not is_usable:
        evidence, answer = {}, _unusable("the agent's evidence is not a JSON object")
    read = written = 0
    seconds: float = 0
    for step in steps:
        read += step.input_tokens
        written += step.output_tokens
        seconds += step.seconds
    has_failed = answer.error is not None
    return Response(
        output=None if has_failed else answer.content,
        error=answer.error,
        finish_reason="error" if has_failed else "stop",
        usage=Usage(read, written),
        latency=round(seconds, 4),
        warnings=tuple(warnings),
        trace=Trace(tuple(steps), evidence),
    )


def _unusable(why: str) -> AgentAnswer:
    return AgentAnswer(Interleaved(), error=ErrorInfo("internal", why))
