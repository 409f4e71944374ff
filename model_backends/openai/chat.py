"""The endpoint ``chat/completions``: interleaved input; text, pictures, sound out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.content import Interleaved, Media, Part, PartKind, find, text_part
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.failures import bad_reply, error_in_body
from mmeval.model_backends.openai.messages import encode_messages
from mmeval.model_backends.openai.reply import (
    fingerprint,
    json_object,
    medium,
    served,
    usage,
)
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.openai.transport import Outgoing, Received
from mmeval.records import FinishReason, GenerationParams, Request, Response

PATH = "chat/completions"

_FINISH: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
}
_UNSENT_OPTIONS = ("image.size", "image.quality")
_SAID_FIELDS = (
    "content",
    "refusal",
    "images",
    "audio",
    "reasoning_content",
    "reasoning",
)


class ChatEndpoint:
    """Requests and replies of ``chat/completions``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening: tuple[GenerationParams, tuple[PartKind, ...], bytes] | None = (
            None
        )

    def encode(self, request: Request) -> Outgoing:
        """The request as sent. Raises CallError for parts or options it cannot
        carry."""
        seed = b', "seed": %d' % request.seed if self._settings.send_seed else b""
        own = self._settings
        messages = encode_messages(
            request.messages, own.capabilities.inputs, own.image_detail
        )
        return Outgoing(
            PATH, b'%b%b, "messages": %b}' % (self._opened(request), seed, messages)
        )

    def _opened(self, request: Request) -> bytes:
        """The body up to its seed, reused if the previous request's parameters are
        equal."""
        last = self._opening
        if last is not None and last[0] is request.params and last[1] == request.wants:
            return last[2]
        fields = {
            "model": self._settings.model,
            **parameters.sampling(request.params, self._settings),
        }
        if self._settings.response_format:
            fields["response_format"] = {"type": self._settings.response_format}
        opening = json.dumps(fields | self._wanted(request))[:-1].encode()
        self._opening = (request.params, request.wants, opening)
        return opening

    def _wanted(self, request: Request) -> dict[str, Any]:
        media = [
            kind for kind in dict.fromkeys(request.wants) if kind in ("image", "audio")
        ]
        if not media:
            return {}
        # Servers that also speak or draw require "text" among the modalities; those
        # that only draw refuse it.
        fields: dict[str, Any] = {
            "modalities": (
                ["text"] if "text" in self._settings.capabilities.outputs else []
            )
            + media
        }
        if "audio" in media:
            params = request.params
            fields["audio"] = {
                "voice": parameters.voice(params),
                "format": parameters.audio_format(params),
            }
        return fields

    def decode(self, received: Received, request: Request) -> Response:
        """The answer in a reply. Raises CallError ``bad_reply`` without one."""
        data = json_object(received.body)
        choices = data.get("choices")
        if (
            not isinstance(choices, list)
            or not choices
            or not isinstance(choices[0], dict)
        ):
            raise bad_reply("the server's answer has no choices")
        if choices[0].get("error"):
            raise error_in_body(choices[0]["error"])
        messages = _messages(choices)
        return Response(
            output=answer(messages),
            finish_reason=_finish(choices[0], messages[0]),
            usage=usage(data),
            latency=received.latency,
            served=served(data),
            fingerprint=fingerprint(data),
            warnings=_warnings(request) if request.params.options else (),
        )


def _finish(choice: Mapping[str, Any], message: dict[str, Any]) -> FinishReason:
    if _string(message, "refusal"):
        return "refused"
    reason = choice.get("finish_reason")
    return "stop" if reason == "stop" else _FINISH.get(str(reason), "stop")


def _warnings(request: Request) -> tuple[str, ...]:
    if "image" not in request.wants:
        return ()
    return parameters.unsent(
        request.params, PATH, sampled=True, options=_UNSENT_OPTIONS
    )


def _messages(choices: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    messages = [choice.get("message") for choice in choices if isinstance(choice, dict)]
    first = messages[0]
    if not isinstance(first, dict) or first.keys().isdisjoint(_SAID_FIELDS):
        raise bad_reply("the server's answer has no message")
    return [message for message in messages if isinstance(message, dict)]


def answer(messages: Sequence[dict[str, Any]]) -> Interleaved:
    """The parts of an answer, in order, hidden reasoning first.

    One answer is requested, so further messages add their media to the first: omni
    servers put the sound of an answer into another choice.
    """
    first = messages[0]
    pieces, thoughts = _pieces(first.get("content"))
    thought = "".join(
        (_string(first, "reasoning_content") or _string(first, "reasoning"), *thoughts)
    )
    if not any(isinstance(piece, str) and piece for piece in pieces):
        pieces.append(_string(first, "refusal") or _transcript(messages))
    for message in messages:
        pieces += _beside(message)
    output = _woven(pieces)
    return (
        Interleaved((Part("reasoning", text=thought), *output.parts))
        if thought
        else output
    )


def _woven(pieces: Sequence[str | Media]) -> Interleaved:
    """Text and media in order; placeholders in the text, if any, place the media."""
    text = "".join([piece for piece in pieces if isinstance(piece, str)])
    media = [piece for piece in pieces if isinstance(piece, Media)]
    if not media and "<" not in text:
        return Interleaved((text_part(text),) if text else ())
    if not media or any(find(text)):
        return Interleaved.from_reply(text, media)
    given = [piece for piece in pieces if piece != ""]
    return Interleaved(
        tuple(
            text_part(p) if isinstance(p, str) else Part(p.kind, media=p) for p in given
        )
    )


def _pieces(content: object) -> tuple[list[str | Media], list[str]]:
    """The pieces of ``content`` in order, and the hidden reasoning among them."""
    if content is None:
        return [], []
    if isinstance(content, str):
        return [content], []
    if not isinstance(content, list):
        raise bad_reply(f"the content of the answer is a JSON {type(content).__name__}")
    pieces: list[str | Media] = []
    thoughts: list[str] = []
    for item in content:
        if isinstance(item, dict) and item.get("type") in ("thinking", "reasoning"):
            thoughts.append(_thought(item))
        else:
            pieces.append(_piece(item))
    return pieces, thoughts


def _piece(item: object) -> str | Media:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        raise bad_reply(f"a part of the answer is a JSON {type(item).__name__}")
    for name in ("text", "refusal"):
        if isinstance(item.get(name), str):
            return str(item[name])
    return medium(item)


def _thought(item: dict[str, Any]) -> str:
    said = item.get("thinking") or item.get("text") or item.get("reasoning") or ""
    if isinstance(said, list):
        return "".join(
            str(part.get("text", "")) for part in said if isinstance(part, dict)
        )
    return str(said)


def _beside(message: dict[str, Any]) -> list[Media]:
    """The media besides the text, pictures first."""
    images, audio = message.get("images") or [], message.get("audio")
    if not images and not audio:
        return []
    if not isinstance(images, list):
        raise bad_reply("the images of the answer are no list")
    return [medium(item) for item in images] + ([medium(audio)] if audio else [])


def _transcript(messages: Sequence[dict[str, Any]]) -> str:
    """The transcript of the sound, for an answer without other text."""
    spoken = (message.get("audio") for message in messages)
    return next(
        (_string(audio, "transcript") for audio in spoken if isinstance(audio, dict)),
        "",
    )


def _string(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
