"""The endpoint ``chat/completions``: interleaved input, and text, pictures or sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.media import PartKind
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.chunks import (
    CHOICE_FIELDS,
    UNREAD,
    whole_reply,
)
from mmeval.model_backends.openai.messages import encode_messages
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.events import is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import (
    fingerprint,
    json_object,
    served,
    usage,
)
from mmeval.model_backends.wire.replies.samples import SAMPLES_TYPE
from mmeval.model_backends.wire.replies.server_errors import error_in_body
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged, opened_json
from mmeval.records import (
    FinishReason,
    GenerationParams,
    ReplySchema,
    Request,
    Response,
)

PATH = "chat/completions"

_REFUSALS = frozenset(
    (
        "blocklist",
        "guardrail_intervened",
        "image_safety",
        "prohibited_content",
        "recitation",
        "refusal",
        "refused",
        "safety",
        "sensitive",
        "spii",
    )
)
_LIMITS = frozenset(("length", "max_tokens", "max_output_tokens", "model_length"))
_FAILURES = frozenset(("error", "abort", "aborted"))
_BY_SEVERITY: tuple[FinishReason, ...] = ("stop", "length", "refused")
_UNSENT_OPTIONS = (
    "image.size",
    "image.quality",
    "image.background",
    "image.output_format",
)
_REPLY_FIELDS = frozenset(
    (
        "choices",
        "created",
        "error",
        "id",
        "kv_transfer_params",
        "metrics",
        "model",
        "object",
        "prompt_logprobs",
        "prompt_token_ids",
        "provider",
        "service_tier",
        "system_fingerprint",
        "usage",
    )
)


class ChatEndpoint:
    """Encodes requests for ``chat/completions``, and decodes its replies."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        self._opening: (
            tuple[GenerationParams, tuple[PartKind, ...], ReplySchema | None, bytes]
            | None
        ) = None

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises CallError for parts or options that the endpoint does not support.
        """
        settings = self._settings
        opening = self._opening_of(request)
        seed = b""
        if settings.send_seed and "seed" not in settings.extra_body:
            seed = b'"seed": %d, ' % request.seed
        messages = encode_messages(
            request.messages,
            settings.capabilities.inputs,
            parameters.image_detail(request.params, settings),
            settings.formats,
        )
        return HttpRequest(PATH, b'%b%b"messages": %b}' % (opening, seed, messages))

    def _opening_of(self, request: Request) -> bytes:
        """Returns the body up to the seed.

        The text is reused if the previous request had the same parameters.
        """
        last = self._opening
        if last is not None:
            params, wants, schema, opening = last
            is_same = params is request.params and wants == request.wants
            if is_same and schema == request.reply_schema:
                return opening
        settings = self._settings
        fields: dict[str, Any] = {
            "model": settings.model,
            **parameters.sampling(request.params, settings),
        }
        response_format = parameters.response_format(request.params, settings)
        if response_format:
            fields["response_format"] = {"type": response_format}
        elif request.reply_schema is not None:
            fields |= parameters.reply_format(request.reply_schema)
        if settings.stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        kinds = dict.fromkeys(request.wants)
        media = [kind for kind in kinds if kind in ("image", "audio")]
        if media and "text" in settings.capabilities.outputs:
            # servers require "text" for models that write and also speak or draw, but
            # refuse it for models that only draw
            fields["modalities"] = ["text", *media]
        elif media:
            fields["modalities"] = media
        if "audio" in media:
            fields["audio"] = {
                "voice": parameters.voice(request.params),
                "format": parameters.audio_format(request.params),
            }
        fields = merged(fields, settings.extra_body)
        opening = opened_json(fields)
        self._opening = (request.params, request.wants, request.reply_schema, opening)
        return opening

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Decodes the answer in a reply.

        The answer contains the parts of all choices, because omni servers put the
        pictures or the sound of an answer into a separate choice. Raises CallError
        ``bad_reply`` if there is no choice.
        """
        is_json = http_reply.body.startswith(b"{")
        if not is_json and is_stream(http_reply.body, http_reply.content_type):
            data = whole_reply(
                http_reply.body, http_reply.cut_reason, self._settings.secrets
            )
        else:
            data = json_object(http_reply.body)
        choices_field = data.get("choices")
        choices = choices_field if isinstance(choices_field, list) else []
        choices = [choice for choice in choices if isinstance(choice, dict)]
        if not choices:
            raise bad_reply("the server's answer has no choices")
        sound_type = ""
        if "audio" in request.wants:
            audio = self._settings.extra_body.get("audio")
            form = audio.get("format") if isinstance(audio, Mapping) else None
            form = form or parameters.audio_format(request.params)
            if form == "pcm16":
                # these samples have no header
                sound_type = SAMPLES_TYPE
        reader = AnswerReader(request.wants, links, sound_type)
        reason: FinishReason = "stop"
        for choice in choices:
            reason = max(reason, _finish_reason(choice), key=_BY_SEVERITY.index)
            message = choice.get("message")
            if isinstance(message, dict):
                reader.message(message, choice.get("audio_metadata"))
            else:
                # the older completions interface has "text" instead of "message"
                reader.items(choice.get("text") if message is None else message)
            reader.unknown_fields(choice, CHOICE_FIELDS)
        reader.unknown_fields(data, _REPLY_FIELDS)
        if data.get(UNREAD):
            reader.warn_left_out("events that are not JSON", data[UNREAD])
        if reader.refused:
            reason = "refused"
        output = reader.answer(ended=reason == "stop")
        unsent: tuple[str, ...] = ()
        if request.params.options and "image" in request.wants:
            unsent = parameters.unsent(
                request.params, PATH, sampled=True, options=_UNSENT_OPTIONS
            )
        return Response(
            output=output,
            finish_reason=reason,
            usage=usage(data),
            latency=http_reply.latency,
            served=served(data),
            fingerprint=fingerprint(data),
            warnings=(*reader.warnings, *unsent),
        )


def _finish_reason(choice: Mapping[str, Any]) -> FinishReason:
    """Returns the finish reason of a choice.

    Raises CallError if the choice ended with an error.
    """
    if choice.get("error"):
        raise error_in_body(choice["error"])
    stated = choice.get("finish_reason")
    if stated == "stop" or stated is None:
        return "stop"
    reason = str(stated).lower().replace("-", "_").replace(" ", "_")
    if reason in _LIMITS:
        return "length"
    if reason in _REFUSALS or reason.replace("_", "").startswith("contentfilter"):
        return "refused"
    if reason in _FAILURES:
        raise CallError("server", f"the server ended the answer with {stated!r}")
    return "stop"
