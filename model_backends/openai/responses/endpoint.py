"""Encodes requests for ``responses``, and decodes its replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mmeval.media import Interleaved
from mmeval.model_backends.openai.responses.input import ResponsesItems, Turns
from mmeval.model_backends.openai.responses.stream import (
    StreamedResponse,
    streamed_reply,
)
from mmeval.model_backends.openai.settings import CHAT_OPTIONS, OpenAISettings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.events import is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.refusals import is_refusal
from mmeval.model_backends.wire.replies.reply import json_object, served, usage
from mmeval.model_backends.wire.replies.server_errors import error_in_body, read_error
from mmeval.model_backends.wire.replies.verbatim import verbatim_items
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged, opened_json
from mmeval.records import FinishReason, Request, Response
from mmeval.system import from_line
from mmeval.system.wording import shortened

PATH = "responses"

PENDING = frozenset(("queued", "in_progress"))
"""The statuses of a response that is not ready yet."""
_UNREADY = PENDING | {"cancelled", "failed"}
_TOOL_OPTIONS = ("size", "quality", "background", "output_format")
_NO_FIELD = ("top_k", "stop")
"""Parameters without a field in this endpoint, which has no field for a seed either."""
_NAMED_CALLS = frozenset(("function_call", "custom_tool_call"))
"""Calls of tools that mmeval does not answer, although the model waits for results."""
_SHOWN_CHARS = 200
_REPLY_FIELDS = frozenset(
    (
        "background",
        "conversation",
        "created_at",
        "completed_at",
        "error",
        "id",
        "incomplete_details",
        "input",
        "instructions",
        "metadata",
        "model",
        "object",
        "output",
        "output_text",
        "previous_response_id",
        "prompt",
        "reasoning",
        "status",
        "text",
        "tool_choice",
        "tools",
        "usage",
        "user",
    )
)
_CALL_FIELDS = frozenset(
    (
        "action",
        "background",
        "error",
        "id",
        "output_format",
        "quality",
        "result",
        "revised_prompt",
        "size",
        "status",
        "type",
    )
)


class ResponsesEndpoint:
    """Encodes requests and decodes replies. The model draws pictures with a tool."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        self._turns = Turns(settings)

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request. Raises CallError for unsupported parts."""
        settings = self._settings
        items = ResponsesItems(settings)
        conversation = self._turns.conversation(request.messages, items)
        fields: dict[str, Any] = {"model": settings.model}
        if conversation.instructions:
            fields["instructions"] = conversation.instructions
        sampling = {
            "max_output_tokens": request.params.max_tokens,
            "temperature": request.params.temperature,
            "top_p": request.params.top_p,
        }
        for name, value in sampling.items():
            if value is not None:
                fields[name] = value
        if settings.response_format:
            fields["text"] = {"format": {"type": settings.response_format}}
        fields |= self._drawing(request)
        fields["store"] = settings.in_background or settings.state == "previous"
        if settings.state != "previous":
            # the server does not keep the answer, so its hidden reasoning is requested
            # and sent back later
            fields["include"] = ["reasoning.encrypted_content"]
        if conversation.previous:
            fields["previous_response_id"] = conversation.previous
        if settings.stream:
            fields["stream"] = True
        fields = merged(fields, settings.extra_body)
        opening = opened_json(fields)
        return HttpRequest(PATH, b'%b"input": %b}' % (opening, conversation.items))

    def _drawing(self, request: Request) -> dict[str, Any]:
        """Returns the fields for the tool that draws.

        Returns an empty mapping if no picture is requested.
        """
        if "image" not in request.wants:
            return {}
        tool: dict[str, Any] = {"type": "image_generation"}
        for name in _TOOL_OPTIONS:
            if f"image.{name}" in request.params.options:
                tool[name] = str(request.params.options[f"image.{name}"])
        tool = merged(tool, self._settings.image_tool)
        fields: dict[str, Any] = {"tools": [tool]}
        if set(request.wants) == {"image"}:
            fields["tool_choice"] = {"type": "image_generation"}
        return fields

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Decodes the answer in a reply from its items, in order.

        Raises CallError ``bad_reply`` if there is no answer, or the error of a failed
        response.
        """
        try:
            reply = self._reply(http_reply)
            items = [from_line(item) for item in reply.items]
        except (ValueError, RecursionError) as error:
            raise bad_reply(f"the answer cannot be read ({error})") from None
        fields = reply.fields
        reader = AnswerReader(request.wants, links)
        failure = _failure(fields)
        if failure is not None and failure.kind != "refused":
            raise failure
        is_refused = _read_items(reader, items)
        reader.unknown_fields(fields, _REPLY_FIELDS)
        reader.unknown_fields(reply.unknown, frozenset())
        if reply.unread_bytes:
            reader.warn_left_out("events that are not JSON", reply.unread_bytes)
        if failure is not None:
            reader.warn(failure.text)
        elif not items:
            reader.warn("the server returned no item: the answer's output is empty")
        reason = _finish_reason(fields)
        if reader.refused or is_refused or failure is not None:
            reason = "refused"
        try:
            output = reader.answer(ended=reason == "stop")
        except CallError:
            # a refused answer may have no parts
            if reason != "refused":
                raise
            output = Interleaved(())
        warnings = list(reader.warnings)
        params = request.params
        unsent = [name for name in _NO_FIELD if getattr(params, name) not in (None, ())]
        unsent += [name for name in CHAT_OPTIONS if name in params.options]
        if unsent:
            warnings.append(f"{PATH} has no field for {', '.join(unsent)}; not sent")
        return Response(
            output=output,
            finish_reason=reason,
            usage=usage(dict(fields)),
            latency=http_reply.latency,
            served=served(dict(fields)),
            warnings=tuple(warnings),
            turn=self._turns.turn(fields.get("id"), reply.items),
        )

    def _reply(self, http_reply: HttpReply) -> StreamedResponse:
        body = http_reply.body
        if not body.startswith(b"{") and is_stream(body, http_reply.content_type):
            return streamed_reply(body, http_reply.cut_reason, self._settings.secrets)
        try:
            fields = from_line(body)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or not is_response(fields):
            fields = json_object(body)  # raises the reported error
        if not isinstance(fields.get("output"), list):
            if status_of(fields) in _UNREADY or fields.get("error"):
                return StreamedResponse(fields, [])
            raise bad_reply("the server's answer has no output")
        return StreamedResponse(fields, verbatim_items(body, ("output",)))


def is_response(fields: Mapping[str, Any]) -> bool:
    """Returns True if a JSON object is a response, ready or not."""
    return fields.get("object") == "response" or "output" in fields


def status_of(fields: Mapping[str, Any]) -> str:
    """Returns the status of a response, or an empty string if it states no status."""
    status = fields.get("status")
    return status if isinstance(status, str) else ""


# --- items ----------------------------------------------------------------------------


def _read_items(reader: AnswerReader, items: Iterable[Any]) -> bool:
    """Reads the items of an output. Returns True if the service refused one of them."""
    thoughts: list[str] = []
    is_refused = False
    for item in items:
        kind = str(item.get("type")) if isinstance(item, dict) else ""
        if kind == "message":
            reader.message(item)
        elif kind == "reasoning":
            # a summary, or the full reasoning of open models
            for name in ("summary", "content"):
                pieces = item.get(name)
                for piece in pieces if isinstance(pieces, list) else [pieces]:
                    text = piece.get("text") if isinstance(piece, dict) else piece
                    if isinstance(text, str) and text:
                        thoughts.append(text)
        elif kind == "image_generation_call":
            is_refused |= _read_picture(reader, item)
        elif kind in _NAMED_CALLS:
            name = shortened(str(item.get("name") or "?"), _SHOWN_CHARS)
            arguments = str(item.get("arguments") or item.get("input") or "")
            reader.warn(
                f"left out of the answer: {kind} {name!r} "
                f"({len(arguments.encode()):,} bytes), a call that mmeval cannot answer"
            )
        else:
            reader.items([item])
    reader.thought("\n\n".join(thoughts))
    return is_refused


def _read_picture(reader: AnswerReader, item: Mapping[str, Any]) -> bool:
    """Reads the picture of a call. Returns True if the service refused to draw."""
    reader.unknown_fields(item, _CALL_FIELDS)
    if item.get("result"):
        reader.picture({"type": item["type"], "b64_json": item["result"]})
        return False
    error = read_error(item.get("error"))
    reason = shortened(error.message, _SHOWN_CHARS)
    details = item.get("error")
    is_moderated = isinstance(details, dict) and bool(details.get("moderation_details"))
    if is_moderated or is_refusal(400, error.codes, error.message):
        reader.warn(f"the service refused to draw a picture ({reason})")
        return True
    status = item.get("status") or "missing"
    reason_text = f" ({reason})" if reason else ""
    reader.warn(
        f"a call for a picture returned no picture; its status is {status}{reason_text}"
    )
    return False


# --- how it ended ---------------------------------------------------------------------


def _failure(fields: Mapping[str, Any]) -> CallError | None:
    """Returns the error of a failed response, or None for an answer."""
    status, stated_error = status_of(fields), fields.get("error")
    if stated_error:
        error = read_error(stated_error)
        if "invalid_prompt" in error.codes:
            words = shortened(error.message, _SHOWN_CHARS)
            return CallError("refused", f"the service refused the request ({words})")
        return error_in_body(stated_error)
    if status in PENDING:
        # a retry would create and cost another response
        return CallError(
            "bad_request",
            f"the answer is not ready (status {status!r}); set "
            'extra_body={"background": true} to wait for it',
        )
    if status in _UNREADY:
        return CallError("server", f"the server ended the answer with {status!r}")
    return None


def _finish_reason(fields: Mapping[str, Any]) -> FinishReason:
    if status_of(fields) != "incomplete":
        return "stop"
    details = fields.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return "refused" if reason == "content_filter" else "length"
