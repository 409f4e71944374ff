"""The interface ``generateContent``.

The input is interleaved. The outputs are text, pictures and sounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mmeval.media import Media, Part
from mmeval.model_backends.gemini import parameters
from mmeval.model_backends.gemini.candidates import (
    Candidate,
    is_thought,
    items_of,
    whole_reply,
)
from mmeval.model_backends.gemini.contents import GENERATE, conversation
from mmeval.model_backends.gemini.reasons import ending, plain, worst
from mmeval.model_backends.gemini.settings import GeminiSettings
from mmeval.model_backends.wire.failures import bad_reply
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import served
from mmeval.model_backends.wire.replies.verbatim import json_list
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged, opened_json
from mmeval.records import FinishReason, Request, Response, Trace, Turn, Usage

_NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
}
_PICTURE_NAMES = {"aspect_ratio": "aspectRatio", "image_size": "imageSize"}
_SNAKE = re.compile(r"_([a-z])")
_CANDIDATE_FIELDS = frozenset(
    (
        "avgLogprobs",
        "citationMetadata",
        "citation_metadata",
        "content",
        "continuationToken",
        "continuation_token",
        "finishMessage",
        "finishReason",
        "finish_message",
        "finish_reason",
        "groundingAttributions",
        "groundingMetadata",
        "grounding_metadata",
        "index",
        "logprobsResult",
        "logprobs_result",
        "safetyRatings",
        "safety_ratings",
        "tokenCount",
        "urlContextMetadata",
        "url_context_metadata",
    )
)
_REPLY_FIELDS = frozenset(
    (
        "candidates",
        "createTime",
        "modelStatus",
        "modelVersion",
        "model_version",
        "promptFeedback",
        "prompt_feedback",
        "responseId",
        "response_id",
        "usageMetadata",
        "usage_metadata",
    )
)


class GenerateEndpoint:
    """Encodes requests for ``generateContent``, and decodes its replies."""

    def __init__(self, settings: GeminiSettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Returns the request as sent. Raises CallError for unsupported content."""
        settings = self._settings
        history = conversation(request.messages, settings, GENERATE)
        fields: dict[str, Any] = {}
        if history.system:
            fields["systemInstruction"] = {"parts": [{"text": history.system}]}
        config, warnings = self._config(request)
        if config:
            fields["generationConfig"] = config
        fields = merged(fields, _with_our_names(settings.extra_body, fields))
        opening = opened_json(fields)
        body = b"".join((opening, b'"contents": ', history.messages, b"}"))
        method = "generateContent"
        if settings.stream:
            method = "streamGenerateContent?alt=sse"
        path = settings.path(f"{settings.model_path}:{method}")
        return HttpRequest(path, body, notes=warnings)

    def _config(
        self,
        request: Request,
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        settings = self._settings
        config = parameters.sampling(request, settings, _NAMES)
        warnings: tuple[str, ...] = ()
        kinds = parameters.modalities(request, settings)
        if kinds:
            config["responseModalities"] = [kind.upper() for kind in kinds]
        if "image" in kinds:
            picture, warnings = parameters.picture_fields(request.params)
            if picture:
                renamed = {_PICTURE_NAMES[name]: picture[name] for name in picture}
                config["imageConfig"] = renamed
        if "audio" in kinds:
            voice = {"voiceName": parameters.voice(request.params, settings)}
            config["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": voice}}
        if settings.thoughts:
            config["thinkingConfig"] = {"includeThoughts": True}
        return config, warnings

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Returns the answer in a reply.

        Raises CallError ``bad_reply`` if there is no answer.
        """
        reply = whole_reply(http_reply, self._settings.secrets)
        reader = AnswerReader(request.wants, links)
        thought_pictures = 0
        reasons: list[FinishReason] = []
        has_failed = False
        for candidate in reply.candidates.values():
            thought_pictures += _read(reader, candidate.parts)
            reader.unknown_fields(candidate.other_fields, _CANDIDATE_FIELDS)
            reason, failed = _finish_reason(candidate, reader)
            reasons.append(reason)
            has_failed = has_failed or failed
        reader.unknown_fields(reply.other_fields, _REPLY_FIELDS)
        if reply.unread:
            reader.warn_left_out("events that are not JSON", reply.unread)
        if reply.block_reason:
            reasons.append("refused")
            words = f"{plain(reply.block_reason)} {reply.block_message}"
            reader.warn(f"the prompt was blocked: {words}".rstrip())
        reason = "refused" if reader.refused else worst(reasons)
        output = reader.answer(ended=reason == "stop")
        if output.empty and has_failed and reason == "stop":
            reason_text = "; ".join(reader.warnings) or "the server states no reason"
            raise bad_reply(f"the answer is empty: {reason_text}")
        trace = None
        if thought_pictures:
            trace = Trace(evidence={"thought_pictures": thought_pictures})
        # The next request sends the parts of the answer back, byte for byte.
        turn = None
        first = next(iter(reply.candidates.values()), None)
        if first is not None and first.encoded_parts:
            items = Media.from_bytes(json_list(first.encoded_parts))
            turn = Turn(self._settings.wire, items)
        return Response(
            output=output,
            finish_reason=reason,
            usage=_usage(reply.usage),
            latency=http_reply.latency,
            served=served({"model": reply.model}),
            warnings=(*reader.warnings, *parameters.unsent(request.params, _NAMES)),
            trace=trace,
            turn=turn,
        )


def _read(reader: AnswerReader, parts: list[dict[str, Any]]) -> int:
    """Reads the parts of a candidate.

    Returns the number of pictures in its thoughts.
    """
    thought_pictures = 0
    items: list[Any] = []
    for part in parts:
        if not is_thought(part):
            items += items_of(part)
            continue
        for item in items_of(part):
            if isinstance(item, Part):
                reader.thought(item.text)
            elif item.get("type") == "text":
                reader.thought(item["text"])
            elif "inlineData" in item or "fileData" in item:
                thought_pictures += 1
            else:
                items.append(item)
    reader.content(items)
    return thought_pictures


def _finish_reason(
    candidate: Candidate, reader: AnswerReader
) -> tuple[FinishReason, bool]:
    """Returns the finish reason of a candidate, and True if the service failed."""
    kind = ending(candidate.reason)
    words = f": {candidate.message}" if candidate.message else ""
    if not candidate.reason:
        reader.warn("the server states no finish reason")
    elif kind not in ("stop", "length"):
        reader.warn(f"the answer ended with {plain(candidate.reason)}{words}")
    if kind in ("noted", "failed", "stop"):
        return "stop", kind == "failed"
    return ("length" if kind == "length" else "refused"), False


def _usage(counted: Mapping[str, Any]) -> Usage:
    """Returns the token counts. Tokens of thoughts are added to the output."""
    counts = []
    for kind in ("prompt", "candidates", "thoughts"):
        count = counted.get(f"{kind}TokenCount")
        if type(count) is not int:
            count = counted.get(f"{kind}_token_count")
        counts.append(count if type(count) is int else 0)
    return Usage(counts[0], counts[1] + counts[2])


def _with_our_names(
    extra: Mapping[str, Any],
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the user's fields under the names of our fields.

    The service accepts snake case and camel case, but not both for one field.
    """
    aligned: dict[str, Any] = {}
    for name, value in extra.items():
        camel = _SNAKE.sub(lambda match: match[1].upper(), name)
        field = camel if camel in fields else name
        current = fields.get(field)
        if isinstance(value, Mapping) and isinstance(current, Mapping):
            aligned[field] = _with_our_names(value, current)
        else:
            aligned[field] = value
    return aligned
