"""Google's two interfaces in tests: a stand-in server, calls of the `gemini` backend, and
the JSON of replies."""

import asyncio
import base64
import contextlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.model_backends.gemini import GeminiBackend
from mmeval.records import Request, Response
from tests.support.servers import (
    Captured,
    LocalHandler,
    LocalServer,
    Scripted,
    ScriptedServer,
    events_text,
)
from tests.support.tiny_media import picture

# A stand-in for Google's two interfaces: it gives every kind that a request wants,
# with signatures, at once or as a stream, and keeps what it was sent.

SAMPLES = b"\x00\x10" * 2400
_GENERATE = re.compile(r"/v1\w*/models/[^/]+:(stream)?[gG]enerateContent(\?alt=sse)?")
_INTERACTIONS = re.compile(r"/v1\w*/interactions")


def letters(data: bytes) -> str:
    return base64.b64encode(data).decode()


def signature(turn: int, place: int) -> str:
    """What a part of a turn carries; its blanks and escapes are unlike those of a JSON
    encoder."""
    return letters(f"signature {turn}.{place}".encode())


class GeminiServer(LocalServer):
    """Answers each request with the kinds that it wants. The ``hold``-th request and
    those after it get no answer until ``let_go``."""

    def __init__(self, hold: int = 0, *, thinks_in_pictures: bool = False) -> None:
        self.seen: list[Captured] = []
        self.thinks_in_pictures = thinks_in_pictures
        self._hold, self._free = hold, threading.Event()
        self._lock = threading.Lock()
        super().__init__(self._handler())

    def __exit__(self, *error: object) -> None:
        self.let_go()
        super().__exit__(*error)

    def let_go(self) -> None:
        self._hold = 0
        self._free.set()

    def kinds(self) -> set[str]:
        """The kinds that were asked for."""
        return {kind for request in self.seen for kind in wanted(request.json)}

    def take(self, request: Captured) -> int:
        """The number of a request, which may have to wait."""
        with self._lock:
            self.seen.append(request)
            number = len(self.seen)
        if self._hold and number >= self._hold:
            self._free.wait()
        return number

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                request = Captured(self.path, dict(self.headers), self.body())
                number = owner.take(request)
                status, content_type, reply = answer(
                    request, number, owner.thinks_in_pictures
                )
                # nobody may be there any more
                with contextlib.suppress(ConnectionError):
                    self.send_response(status)
                    self.send_header("Content-Type", content_type)
                    self.send_header("Content-Length", str(len(reply)))
                    self.end_headers()
                    self.wfile.write(reply)

        return Handler


def answer(
    request: Captured, number: int, thinks_in_pictures: bool
) -> tuple[int, str, bytes]:
    """The status, the type and the body of a reply."""
    kinds = wanted(request.json)
    generated = _GENERATE.fullmatch(request.path)
    if generated:
        given = parts(kinds, number)
        if thinks_in_pictures:
            drawn = {"mimeType": "image/png", "data": _drawn(number)}
            given.insert(0, {"inlineData": drawn, "thought": True})
        if generated[1]:
            return 200, "text/event-stream", events(_chunks(given))
        return 200, "application/json", written(_reply(given, "STOP"))
    if _INTERACTIONS.fullmatch(request.path):
        made = steps(kinds, number)
        if request.json.get("stream"):
            return 200, "text/event-stream", events(_step_events(made))
        return 200, "application/json", written(_interaction(made))
    error = {"code": 404, "message": request.path, "status": "NOT_FOUND"}
    return 404, "application/json", written({"error": error})


def wanted(body: Mapping[str, Any]) -> list[str]:
    """The kinds that a request wants."""
    config = body.get("generationConfig", {})
    kinds = [kind.lower() for kind in config.get("responseModalities", ())]
    kinds += [row["type"] for row in body.get("response_format", ())]
    return kinds or ["text"]


def written(row: object) -> bytes:
    """JSON in a way in which no encoder of ours writes it."""
    text = json.dumps(row, separators=(" ,", " : "))
    return text.replace("=", "\\u003d").encode()


def events(rows: Sequence[object]) -> bytes:
    return b"".join(b"data: " + written(row) + b"\n\n" for row in rows)


def parts(kinds: Sequence[str], turn: int) -> list[dict[str, Any]]:
    """The parts of a turn, first a thought."""
    shapes: dict[str, dict[str, Any]] = {
        "text": {"text": f"answer {turn}: "},
        "image": {"inlineData": {"mimeType": "image/png", "data": _drawn(turn)}},
        "audio": {
            "inlineData": {
                "mimeType": "audio/L16;codec=pcm;rate=24000",
                "data": letters(SAMPLES),
            }
        },
    }
    shown = [shapes[kind] for kind in kinds]
    for place, part in enumerate(shown):
        part["thoughtSignature"] = signature(turn, place)
    return [{"text": "Let me see.", "thought": True}, *shown]


def _drawn(turn: int) -> str:
    return letters(picture(colour=(turn * 40 % 256, 90, 160), size=(64, 64)))


def _reply(given: Sequence[Mapping[str, Any]], reason: str | None) -> dict[str, Any]:
    candidate = {
        "content": {"role": "model", "parts": given},
        "finishReason": reason,
        "index": 0,
    }
    counted = {"promptTokenCount": 10, "candidatesTokenCount": 20}
    return {
        "candidates": [candidate],
        "usageMetadata": {**counted, "thoughtsTokenCount": 5, "totalTokenCount": 35},
        "modelVersion": "stand-in",
        "responseId": "r",
    }


def _chunks(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    chunks = [_reply([part], None) for part in given]
    return [*chunks, _reply([], "STOP")]


def steps(kinds: Sequence[str], turn: int) -> list[dict[str, Any]]:
    """The steps of a turn, first a thought."""
    shapes: dict[str, dict[str, Any]] = {
        "text": {"type": "text", "text": f"answer {turn}: "},
        "image": {"type": "image", "mime_type": "image/png", "data": _drawn(turn)},
        "audio": {
            "type": "audio",
            "mime_type": "audio/l16",
            "sample_rate": 24000,
            "data": letters(SAMPLES),
        },
    }
    thought = {
        "type": "thought",
        "signature": signature(turn, 0),
        "summary": [{"type": "text", "text": "Let me see."}],
    }
    content = [shapes[kind] for kind in kinds]
    return [thought, {"type": "model_output", "content": content}]


def _interaction(made: Sequence[object]) -> dict[str, Any]:
    return {
        "id": "int_1",
        "object": "interaction",
        "status": "completed",
        "model": "stand-in",
        "created": "2026-11-29T00:00:00Z",
        "updated": "2026-11-29T00:00:01Z",
        "steps": made,
        "usage": {
            "total_input_tokens": 10,
            "total_output_tokens": 20,
            "total_thought_tokens": 5,
            "total_tokens": 35,
        },
    }


def _step_events(made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    begun = {"id": "int_1", "status": "in_progress", "model": "stand-in"}
    rows: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": begun}
    ]
    for index, step in enumerate(made):
        place = {"index": index}
        kind = {"type": step["type"]}
        rows.append({"event_type": "step.start", **place, "step": kind})
        deltas = [
            {"type": "thought_summary", "content": item}
            for item in step.get("summary", ())
        ]
        if "signature" in step:
            signed = {"type": "thought_signature", "signature": step["signature"]}
            deltas.append(signed)
        deltas += step.get("content", ())
        rows += [
            {"event_type": "step.delta", **place, "delta": delta} for delta in deltas
        ]
        rows.append({"event_type": "step.stop", **place})
    done = _interaction([])
    done.pop("steps")
    return [*rows, {"event_type": "interaction.completed", "interaction": done}]


# Calls of the `gemini` backend in tests: a request in, a response out, everything
# closed; and the JSON of Google's replies.

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
    return Scripted(events_text(*events), headers=STREAM)
