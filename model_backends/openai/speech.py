"""The endpoints ``audio/speech``, which reads a text aloud, and ``audio/generate``."""

from __future__ import annotations

import json
from typing import Any

from mmeval.media import SNIFF_BYTES, Media, sniff_mime
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.messages import words
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.events import DONE, events, is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import json_object, usage
from mmeval.model_backends.wire.replies.samples import (
    SAMPLES_TYPE,
    is_samples_type,
    joined_base64,
)
from mmeval.model_backends.wire.replies.server_errors import event_object, missing_end
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged
from mmeval.records import Request, Response

SPEECH = "audio/speech"
SOUNDS = "audio/generate"


class SpeechEndpoint:
    """Encodes requests for ``audio/speech``, and decodes its replies.

    A seed is sent only with ``send_seed=true``, because the official server refuses the
    field.
    """

    path = SPEECH

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Encodes the text to read aloud, with the system messages as instructions.

        Raises CallError if the input contains anything but text.
        """
        return HttpRequest(self.path, json.dumps(self._fields(request)).encode())

    def _fields(self, request: Request) -> dict[str, Any]:
        settings = self._settings
        fields: dict[str, Any] = {
            "model": settings.model,
            "input": _text(request, system=False),
            "voice": parameters.voice(request.params),
            "response_format": parameters.speech_format(request.params),
        }
        instructions = _text(request, system=True)
        if instructions:
            fields["instructions"] = instructions
        if settings.seed_all:
            fields["seed"] = request.seed
        if settings.stream:
            fields["stream_format"] = "sse"
        return merged(fields, settings.extra_body)

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Decodes the sound of a reply.

        Raises CallError ``bad_reply`` if there is no sound.
        """
        data: dict[str, Any] = {}
        if is_stream(http_reply.body, http_reply.content_type):
            body, data = _whole_sound(http_reply)
        else:
            body = http_reply.body
            if body.startswith(b"{"):
                json_object(body)  # raises the reported error
        mime = http_reply.content_type
        form = self._settings.extra_body.get("response_format")
        form = form or parameters.speech_format(request.params)
        # streams contain samples without a header too
        if not is_samples_type(mime) and (form == "pcm" or self._settings.stream):
            mime = SAMPLES_TYPE
        body_type = sniff_mime(body[:SNIFF_BYTES], size=len(body))
        is_text = (
            body_type.startswith(("text/", "image/")) or body_type == "application/pdf"
        )
        may_be_samples = is_samples_type(mime) or mime.lower().startswith("audio/")
        is_sound = Media.from_bytes(body).kind == "audio"
        if not body or not (is_sound or (may_be_samples and not is_text)):
            raise bad_reply(
                f"the server's answer is {len(body)} bytes of {body_type}, not a sound"
            )
        reader = AnswerReader(request.wants, links, mime)
        reader.sound(body, mime)
        output = reader.answer()
        unsent = parameters.unsent(request.params, self.path, sampled=False)
        return Response(
            output=output,
            usage=usage(data),
            latency=http_reply.latency,
            warnings=(*reader.warnings, *unsent),
        )


class SoundsEndpoint(SpeechEndpoint):
    """Encodes requests for ``audio/generate``, and decodes its replies.

    The endpoint belongs to vLLM-Omni, and generates sounds and music.
    """

    path = SOUNDS

    def _fields(self, request: Request) -> dict[str, Any]:
        settings = self._settings
        texts = [_text(request, system=True), _text(request, system=False)]
        fields: dict[str, Any] = {
            "model": settings.model,
            "input": "\n\n".join(text for text in texts if text),
            "response_format": parameters.speech_format(request.params),
        }
        if settings.send_seed:
            fields["seed"] = request.seed
        return merged(fields, settings.extra_body)


def _whole_sound(http_reply: HttpReply) -> tuple[bytes, dict[str, Any]]:
    """Returns the bytes of a streamed sound, and its last event.

    Raises CallError for an error in the stream, and CallError ``connection`` for a
    stream without an end.
    """
    pieces: list[str] = []
    for event in events(http_reply.body):
        row = event_object(event) or {}
        audio = row.get("audio") or row.get("delta")
        if isinstance(audio, str):
            pieces.append(audio)
        kind = str(row.get("type") or event.name)
        if kind.endswith(".done") or event.data.strip() == DONE:
            return joined_base64(pieces), row
    raise missing_end("the sound", http_reply.cut_reason)


def _text(request: Request, *, system: bool) -> str:
    texts = []
    for message in request.messages:
        if (message.role == "system") is not system:
            continue
        for part in message.content.parts:
            if part.media is not None:
                raise CallError(
                    "unsupported",
                    f"the speech endpoint supports only text, not {part.kind}",
                )
        texts.append("".join(map(words, message.content.parts)))
    return "\n\n".join(text for text in texts if text)
