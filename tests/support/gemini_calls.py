"""Calls of the `gemini` backend in tests: a request in, a response out, everything
closed; and the JSON of Google's replies."""

import asyncio
import json
from typing import Any

from mmeval.model_backends.gemini import GeminiBackend
from mmeval.records import Request, Response
from tests.support.gemini_server import letters
from tests.support.scripted_server import Captured, Scripted, ScriptedServer

STREAM = {"Content-Type": "text/event-stream"}


def ask(url: str, asked: Request, **arguments: Any) -> Response:
    """The answer of a server to one request."""

    async def run() -> Response:
        backend = GeminiBackend(**{"model": "m", "base_url": url, **arguments})
        try:
            return await backend.generate(asked)
        finally:
            await backend.close()

    return asyncio.run(run())


def exchanged(
    asked: Request, reply: Scripted, **arguments: Any
) -> tuple[Response, Captured]:
    """The answer in a reply, and the request that it answers."""
    with ScriptedServer(reply) as server:
        response = ask(server.url.removesuffix("/v1"), asked, **arguments)
    return response, server.seen[0]


def shape(response: Response) -> list[str]:
    """The words of an answer, and the kinds of its media."""
    assert response.output is not None, response.error
    return [
        part.kind if part.text is None else part.text for part in response.output.parts
    ]


def inline(data: bytes, mime: str = "image/png", **more: Any) -> dict[str, Any]:
    """A part with bytes."""
    return {"inlineData": {"mimeType": mime, "data": letters(data)}, **more}


def generated(*parts: Any, reason: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """A reply of one candidate."""
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], **more}


def interaction(*steps: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    """A reply of steps."""
    return {"id": "int_1", "status": status, "steps": list(steps), **more}


def said(*content: Any) -> dict[str, Any]:
    """A step that the model gives; texts as they are."""
    items = [
        {"type": "text", "text": item} if isinstance(item, str) else item
        for item in content
    ]
    return {"type": "model_output", "content": items}


def streamed(*events: Any) -> Scripted:
    """A stream of events: objects as JSON, texts as they are."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    body = "".join(f"data: {line}\n\n" for line in lines).encode()
    return Scripted(body, headers=STREAM)
