"""``images/generations`` and ``images/edits``: a picture from text (and pictures)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mmeval.content import Interleaved, Media, Part, suffix_for
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.failures import CallError, bad_reply
from mmeval.model_backends.openai.messages import words
from mmeval.model_backends.openai.reply import json_object, medium, served, usage
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.openai.transport import Outgoing, Received
from mmeval.records import Request, Response

GENERATIONS = "images/generations"
EDITS = "images/edits"


class ImagesEndpoint:
    """Requests and replies of both image endpoints; no seed, the server draws
    repeats."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> Outgoing:
        """The request as sent. Raises CallError for input other than text and
        pictures."""
        prompt, images = prompt_of(request)
        fields = {"model": self._settings.model, "prompt": prompt, "n": "1"}
        for name in ("size", "quality"):
            if f"image.{name}" in request.params.options:
                fields[name] = str(request.params.options[f"image.{name}"])
        if self._settings.image_response_format:
            fields["response_format"] = self._settings.image_response_format
        if images:
            return multipart(EDITS, fields, _files(images), request.key)
        return Outgoing(GENERATIONS, json.dumps(fields | {"n": 1}).encode())

    def decode(self, received: Received, request: Request) -> Response:
        """The pictures of a reply. Raises CallError ``bad_reply`` without any."""
        data = json_object(received.body)
        items = data.get("data")
        if not isinstance(items, list) or not items:
            raise bad_reply("the server's answer has no pictures in data")
        pictures = [medium(item) for item in items]
        return Response(
            output=Interleaved.from_reply("", pictures),
            usage=usage(data),
            latency=received.latency,
            served=served(data),
            warnings=parameters.unsent(request.params, "images", sampled=False),
        )


def prompt_of(request: Request) -> tuple[str, list[Media]]:
    """The single prompt of a request: all messages in order, and their pictures.

    Several pictures are named ``[image1]``, ``[image2]`` in their places.
    """
    parts = [part for message in request.messages for part in message.content.parts]
    images = [
        part.media for part in parts if part.media is not None and part.kind == "image"
    ]
    for part in parts:
        if part.media is not None and part.kind != "image":
            raise CallError(
                "unsupported",
                f"the images endpoint takes text and pictures, no {part.kind}",
            )
    numbers = iter(range(1, len(images) + 1))
    texts = [
        "".join(_shown(part, numbers, len(images)) for part in message.content.parts)
        for message in request.messages
    ]
    return "\n\n".join(text for text in texts if text), images


def _shown(part: Part, numbers: Iterator[int], pictures: int) -> str:
    if part.media is None:
        return words(part)
    number = next(numbers)
    return f"[image{number}]" if pictures > 1 else ""


class FormFile(NamedTuple):
    """A file of a form. Its name is neutral."""

    field: str
    name: str
    mime: str
    data: bytes


def _files(images: Sequence[Media]) -> list[FormFile]:
    field = "image" if len(images) == 1 else "image[]"
    return [
        FormFile(field, f"image{number}{suffix_for(item.mime)}", item.mime, item.read())
        for number, item in enumerate(images, 1)
    ]


def multipart(
    path: str, fields: dict[str, str], files: Sequence[FormFile], key: str = ""
) -> Outgoing:
    """A form with files (RFC 7578). Raises CallError for an invalid MIME type. With a
    ``key`` the same form has the same bytes, as servers compare those of calls with one
    key."""
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
                "unsupported", f"a picture claims the MIME type {file.mime!r}"
            )
        disposition = f'form-data; name="{file.field}"; filename="{file.name}"'
        head = (
            f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: "
            f"{file.mime}\r\n\r\n"
        )
        pieces += [head.encode(), file.data, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return Outgoing(path, b"".join(pieces), f"multipart/form-data; boundary={boundary}")
