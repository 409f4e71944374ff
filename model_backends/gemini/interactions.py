"""The interface ``interactions``. Its input and its answer are lists of steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mmeval.media import Media
from mmeval.model_backends.gemini import parameters
from mmeval.model_backends.gemini.contents import INTERACTIONS, conversation
from mmeval.model_backends.gemini.reasons import ending
from mmeval.model_backends.gemini.settings import GeminiSettings
from mmeval.model_backends.gemini.steps import (
    OPEN,
    UNREAD,
    checked_steps,
    whole_interaction,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.events import is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import json_object, served
from mmeval.model_backends.wire.replies.server_errors import error_in_body
from mmeval.model_backends.wire.replies.verbatim import json_list, verbatim_items
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged, opened_json
from mmeval.records import FinishReason, Request, Response, Trace, Turn, Usage

_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
    "seed": "seed",
}
_LENGTHS = frozenset(("budget_exceeded", "incomplete", "requires_continuation"))
_ENDED = frozenset(("completed", "idle", "requires_action"))
_INTERACTION_FIELDS = frozenset(
    (
        "agent",
        "agent_config",
        "cached_content",
        "continuation_token",
        "created",
        "environment",
        "environment_id",
        "errors",
        "generation_config",
        "id",
        "input",
        "labels",
        "model",
        "object",
        "outputs",
        "previous_interaction_id",
        "response_format",
        "response_mime_type",
        "response_modalities",
        "role",
        "safety_settings",
        "service_tier",
        "status",
        "steps",
        "system_instruction",
        "tools",
        "updated",
        "usage",
        UNREAD,
    )
)


class InteractionsEndpoint:
    """Encodes requests for ``interactions``, and decodes its replies."""

    def __init__(self, settings: GeminiSettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Returns the request as sent. Raises CallError for unsupported content."""
        settings = self._settings
        history = conversation(request.messages, settings, INTERACTIONS)
        # Later requests do not refer to an interaction by its id, so the server need
        # not store it.
        fields: dict[str, Any] = {"model": settings.model, "store": False}
        if settings.stream:
            fields["stream"] = True
        if history.system:
            fields["system_instruction"] = history.system
        kinds = parameters.modalities(request, settings)
        config = parameters.sampling(request, settings, _NAMES)
        if settings.thoughts:
            config["thinking_summaries"] = "auto"
        picture: dict[str, str] = {}
        warnings: tuple[str, ...] = ()
        if "image" in kinds:
            picture, warnings = parameters.picture_fields(request.params)
        if "audio" in kinds:
            voice = parameters.voice(request.params, settings)
            config["speech_config"] = [{"voice": voice}]
        if kinds:
            forms = [{"type": kind} for kind in kinds]
            for form in forms:
                if form["type"] == "image":
                    form.update(picture)
            fields["response_format"] = forms
        if config:
            fields["generation_config"] = config
        fields = merged(fields, settings.extra_body)
        opening = opened_json(fields)
        body = b"".join((opening, b'"input": ', history.messages, b"}"))
        return HttpRequest(settings.path("interactions"), body, notes=warnings)

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Returns the answer in a reply.

        Raises CallError ``bad_reply`` if there is no answer.
        """
        body = http_reply.body
        streamed = is_stream(body, http_reply.content_type)
        if streamed:
            data = whole_interaction(
                body, http_reply.cut_reason, self._settings.secrets
            )
        else:
            data = json_object(body)
        reader = AnswerReader(request.wants, links)
        steps = checked_steps(data)
        thought_pictures = sum(_read(reader, step) for step in steps)
        trace = None
        if thought_pictures:
            trace = Trace(evidence={"thought_pictures": thought_pictures})
        reader.unknown_fields(data, _INTERACTION_FIELDS)
        if data.get(UNREAD):
            reader.warn_left_out("events that are not JSON", data[UNREAD])
        reason = _finish_reason(data, steps, reader)
        output = reader.answer(ended=reason == "stop")
        return Response(
            output=output,
            finish_reason=reason,
            usage=_usage(data.get("usage")),
            latency=http_reply.latency,
            served=served(data),
            warnings=(*reader.warnings, *parameters.unsent(request.params, _NAMES)),
            trace=trace,
            turn=self._turn(steps, None if streamed else body),
        )

    def _turn(
        self,
        steps: list[dict[str, Any]],
        body: bytes | None,
    ) -> Turn | None:
        """Returns the steps that the next request sends back, byte for byte.

        The steps of a streamed reply (without ``body``) are encoded again, because each
        step arrived in several events.
        """
        if body is None:
            encoded_steps = [
                json.dumps(step, ensure_ascii=False).encode() for step in steps
            ]
        else:
            encoded_steps = verbatim_items(body, ("steps",))
        if not steps or len(encoded_steps) != len(steps):
            return None
        sent_back = []
        for step, item in zip(steps, encoded_steps, strict=True):
            if step.get("type") != "user_input":
                sent_back.append(item)
        return Turn(self._settings.wire, Media.from_bytes(json_list(sent_back)))


def _read(reader: AnswerReader, step: Mapping[str, Any]) -> int:
    """Reads a step. Returns the number of pictures in its thoughts."""
    kind = step.get("type")
    if kind == "model_output":
        content = step.get("content")
        reader.content(content if isinstance(content, list) else [content])
    elif kind not in ("thought", "user_input"):
        reader.content([step])
    if kind != "thought":
        return 0
    summary = step.get("summary")
    thought_pictures = 0
    for item in summary if isinstance(summary, list) else [summary]:
        if isinstance(item, str):
            reader.thought(item)
        elif isinstance(item, dict) and item.get("type") == "image":
            thought_pictures += 1
        elif isinstance(item, dict):
            reader.thought(item.get("text"))
    return thought_pictures


def _finish_reason(
    data: Mapping[str, Any], steps: list[dict[str, Any]], reader: AnswerReader
) -> FinishReason:
    """Returns the finish reason of an interaction.

    Raises CallError for a failed interaction.
    """
    status = str(data.get("status") or "completed").lower()
    errors = [data["errors"]] if data.get("errors") else []
    errors += [step["error"] for step in steps if step.get("error")]
    for error in errors:
        failure = _failure(error)
        if failure.kind == "refused":
            reader.warn(failure.text)
            return "refused"
    if status in OPEN:
        raise CallError("server", f"the interaction has not ended ({status})")
    if status in ("failed", "cancelled"):
        if errors:
            raise _failure(errors[0])
        raise CallError("server", f"the interaction was {status} without a reason")
    for error in errors:
        reader.warn(f"a step of the answer failed: {_failure(error).text}")
    if reader.refused:
        return "refused"
    if status in _LENGTHS:
        return "length"
    if status not in _ENDED:
        reader.warn(f"the interaction ended with {status}")
    return "stop"


def _failure(error: object) -> CallError:
    """Returns the error that the service states.

    The error is a refusal if its code names a content filter.
    """
    rows = error if isinstance(error, list) else [error]
    failure = error_in_body({"errors": rows})
    for row in rows:
        if isinstance(row, dict) and ending(row.get("code")) == "refused":
            return CallError("refused", failure.text)
    return failure


def _usage(counted: object) -> Usage:
    """Returns the token counts. Tokens of thoughts are added to the output."""
    if not isinstance(counted, dict):
        return Usage()
    output_tokens = 0
    for name in ("total_output_tokens", "total_thought_tokens"):
        if type(counted.get(name)) is int:
            output_tokens += counted[name]
    return Usage(counted.get("total_input_tokens", 0), output_tokens)
