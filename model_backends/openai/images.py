"""The endpoints ``images/generations`` and ``images/edits``."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.media import Media, Part, suffix_for
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.messages import words
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.formats import Formats
from mmeval.model_backends.wire.media import data_uri, sendable
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.events import DONE, events, is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import json_object, served, usage
from mmeval.model_backends.wire.replies.server_errors import event_object, missing_end
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import form_fields, merged
from mmeval.records import Request, Response

GENERATIONS = "images/generations"
EDITS = "images/edits"
OPENROUTER = "images"

_OPTIONS = ("size", "quality", "background", "output_format")
_REPLY_FIELDS = frozenset(
    (
        "background",
        "cot_output",
        "created",
        "data",
        "id",
        "images",
        "metrics",
        "model",
        "object",
        "output_format",
        "quality",
        "size",
        "usage",
    )
)


class ImagesEndpoint:
    """Encodes requests for both image endpoints, and decodes their replies.

    A seed is sent only with ``send_seed=true``, because the official server refuses the
    field.
    """

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises CallError if the input contains other kinds than text and pictures.
        """
        settings = self._settings
        prompt, images = prompt_of(request)
        fields: dict[str, Any] = {"model": settings.model, "prompt": prompt, "n": 1}
        for name in _OPTIONS:
            if f"image.{name}" in request.params.options:
                fields[name] = str(request.params.options[f"image.{name}"])
        if settings.image_response_format:
            fields["response_format"] = settings.image_response_format
        if settings.seed_all:
            fields["seed"] = request.seed
        if settings.stream:
            fields["stream"] = True
        if settings.images_dialect == "openrouter":
            if images:
                fields["input_references"] = references(images, settings.formats)
            body = json.dumps(merged(fields, settings.extra_body)).encode()
            return HttpRequest(OPENROUTER, body)
        fields = merged(fields, settings.extra_body)
        if not images:
            return HttpRequest(GENERATIONS, json.dumps(fields).encode())
        files = []
        field = "image" if len(images) == 1 else "image[]"
        for number, image in enumerate(images, 1):
            sent = sendable(Part("image", media=image), settings.formats)
            name = f"image{number}{suffix_for(sent.mime)}"
            files.append(FormFile(field, name, sent.mime, sent.read()))
        return multipart(EDITS, form_fields(fields), files, request.key)

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Decodes the pictures of a reply.

        Raises CallError ``bad_reply`` for a reply without a list of pictures.
        """
        if is_stream(http_reply.body, http_reply.content_type):
            data = _whole_reply(http_reply)
        else:
            data = json_object(http_reply.body)
        reader = AnswerReader(request.wants, links)
        reader.thought(data.get("cot_output"))
        items = data.get("data")
        if not isinstance(items, list):
            items = data.get("images")
        if not isinstance(items, list):
            raise bad_reply("the server's answer has no list of pictures in data")
        if not items:
            reader.warn("the server returned no picture: its list is empty")
        for item in items:
            reader.picture(item)
        reader.unknown_fields(data, _REPLY_FIELDS)
        output = reader.answer()
        unsent = parameters.unsent(request.params, "images", sampled=False)
        return Response(
            output=output,
            usage=usage(data),
            latency=http_reply.latency,
            served=served(data),
            warnings=(*reader.warnings, *unsent),
        )


def _whole_reply(http_reply: HttpReply) -> dict[str, Any]:
    """Joins a stream of pictures to a reply, without partial pictures.

    Raises CallError for an error in the stream, and CallError ``connection`` for a
    stream without an end.
    """
    reply: dict[str, Any] = {"data": []}
    thoughts: list[str] = []
    is_complete = False
    for event in events(http_reply.body):
        if event.data.strip() == DONE:
            is_complete = True
            break
        row = event_object(event) or {}
        kind = str(row.get("type") or event.name)
        # vLLM-Omni sends its reasoning before the pictures
        if kind == "ar_delta" or isinstance(row.get("delta"), str):
            thoughts.append(str(row.get("delta") or ""))
        elif isinstance(row.get("data"), list):
            reply["data"] += row["data"]
            is_complete = True
        elif kind.endswith(".completed"):
            reply["data"].append(row)
            is_complete = True
        elif not kind.endswith("partial_image"):
            reply[f"the event {kind}"] = row
        if isinstance(row.get("usage"), Mapping):
            reply["usage"] = row["usage"]
    if not is_complete:
        raise missing_end("pictures", http_reply.cut_reason)
    reply["cot_output"] = "".join(thoughts)
    return reply


def prompt_of(request: Request, endpoint: str = "images") -> tuple[str, list[Media]]:
    """Returns the prompt of a request and its pictures.

    The prompt contains all messages in order. If there are several pictures, the text
    names them ``[image1]``, ``[image2]`` and so on.

    Raises CallError ``unsupported`` for other media.
    """
    images: list[Media] = []
    for message in request.messages:
        for part in message.content.parts:
            if part.media is None:
                continue
            if part.kind != "image":
                raise CallError(
                    "unsupported",
                    f"the {endpoint} endpoint supports only text and pictures, not "
                    f"{part.kind}",
                )
            images.append(part.media)
    texts = []
    number = 0
    for message in request.messages:
        text = ""
        for part in message.content.parts:
            text += words(part)
            if part.media is not None and len(images) > 1:
                number += 1
                text += f"[image{number}]"
        texts.append(text)
    return "\n\n".join(filter(None, texts)), images


def references(
    images: Sequence[Media],
    formats: Formats,
) -> list[dict[str, Any]]:
    """Encodes pictures in OpenRouter's format."""
    items = []
    for image in images:
        uri = json.loads(data_uri(Part("image", media=image), formats))
        items.append({"type": "image_url", "image_url": {"url": uri}})
    return items


class FormFile(NamedTuple):
    """A file in a form.

    The file's name must be neutral, because it could hint at the answer.
    """

    field: str
    name: str
    mime: str
    data: bytes


def multipart(
    path: str,
    fields: dict[str, str],
    files: Sequence[FormFile],
    key: str = "",
) -> HttpRequest:
    """Encodes a form with files (RFC 7578).

    With a ``key``, equal forms have equal bytes, because servers compare calls with the
    same key. Raises CallError for an invalid MIME type.
    """
    boundary = key or secrets.token_hex(16)
    pieces: list[bytes] = []
    for name, value in fields.items():
        pieces.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n'
            "\r\n".encode()
        )
        pieces += [value.encode("utf-8", "replace"), b"\r\n"]
    for file in files:
        if not file.mime.isprintable() or not file.mime.isascii():
            raise CallError(
                "unsupported", f"the MIME type {file.mime!r} of a picture is invalid"
            )
        disposition = f'form-data; name="{file.field}"; filename="{file.name}"'
        head = (
            f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: "
            f"{file.mime}\r\n\r\n"
        )
        pieces += [head.encode(), file.data, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return HttpRequest(
        path, b"".join(pieces), f"multipart/form-data; boundary={boundary}"
    )
