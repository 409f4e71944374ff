"""Calls of the `openai` backend in tests: a request in, a response out, everything
closed."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.media import Media, PartKind
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records import ErrorInfo, GenerationParams, Message, Request, Response, user

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
WAV = b"RIFF\x10\x00\x00\x00WAVEfmt " + b"samples"
MP3 = b"\xff\xfb\x90\x00" + bytes(16)
FLAC = b"fLaC" + b"frames"
MP4 = b"\x00\x00\x00\x18ftypisom" + b"frames"
PDF = b"%PDF-1.7\npage"
GLB = b"glTF\x02\x00\x00\x00" + bytes(16)


def medium(data: bytes, name: str = "secret_answer_name") -> Media:
    return Media.from_bytes(data, name)


def data_uri(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def request(
    *content: Any,
    wants: Sequence[PartKind] = ("text",),
    seed: int = 7,
    options: Mapping[str, Any] | None = None,
    **params: Any,
) -> Request:
    """A request with one user message, or with the given messages."""
    messages = (
        content if content and isinstance(content[0], Message) else (user(*content),)
    )
    return Request(
        tuple(messages),
        GenerationParams.from_mapping({**params, **(options or {})}),
        tuple(wants),
        seed,
    )


def generate(url: str, asked: Request, **arguments: Any) -> Response:
    """The answer of a server to one request."""
    return generate_all(url, [asked], **arguments)[0]


def failure(url: str, asked: Request | None = None, **arguments: Any) -> ErrorInfo:
    """The error that is the answer to a request."""
    response = generate(url, asked or request("q"), **arguments)
    assert response.error is not None
    assert response.output is None
    return response.error


def generate_all(
    url: str, asked: Sequence[Request], **arguments: Any
) -> list[Response]:
    """The answers to several requests, sent one after the other by one backend."""

    async def run() -> list[Response]:
        backend = OpenAIBackend(**{"model": "m", "base_url": url, **arguments})
        try:
            return [await backend.generate(item) for item in asked]
        finally:
            await backend.close()

    return asyncio.run(run())


def kind_of(response: Response) -> str:
    """The kind of a response's error; empty for none."""
    return "" if response.error is None else response.error.kind


def kinds_of(response: Response) -> list[str]:
    """The kinds of an answer's parts."""
    assert response.output is not None, response.error
    return [part.kind for part in response.output.parts]
