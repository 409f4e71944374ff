"""Calls of the `openai` backend in tests, and replies of its endpoint ``responses``."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.media import Media, PartKind
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.responses.endpoint import ResponsesEndpoint
from mmeval.records import ErrorInfo, GenerationParams, Message, Request, Response, user
from tests.support.servers import Reply, reply, stream

# Calls of the `openai` backend in tests: a request in, a response out, everything
# closed.

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


# Replies of the endpoint ``responses``, whole and as streams, in OpenAI's shapes.

RESPONSES = "/v1/responses"
USAGE = {
    "input_tokens": 12,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 34,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 46,
}
Item = dict[str, Any]


def endpoint(**arguments: Any) -> ResponsesEndpoint:
    given = {"model": "m", "base_url": "http://localhost/v1", **arguments}
    return ResponsesEndpoint(
        OpenAIBackend(endpoint="responses", outputs="text+image", **given)._settings
    )


def said(*words: str, name: str = "msg_1", **fields: Any) -> Item:
    """A message, with a part for each text."""
    content = [
        {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        for text in words
    ]
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
        **fields,
    }


def refusal(words: str) -> Item:
    return said() | {"content": [{"type": "refusal", "refusal": words}]}


def drawn(picture: bytes, name: str = "ig_1") -> Item:
    """A call that has drawn a picture."""
    return {
        "id": name,
        "type": "image_generation_call",
        "status": "completed",
        "result": base64.b64encode(picture).decode(),
        "revised_prompt": "a square",
        "output_format": "png",
        "size": "1024x1024",
        "quality": "high",
        "background": "opaque",
        "action": "generate",
    }


def not_drawn(code: str = "", message: str = "", **fields: Any) -> Item:
    """A call that has failed, with its error if any."""
    item = {
        "id": "ig_0",
        "type": "image_generation_call",
        "status": "failed",
        "result": None,
        **fields,
    }
    if code:
        item["error"] = {
            "code": code,
            "message": message,
            "param": None,
            "type": "image_generation_user_error",
        }
    return item


def thought(*words: str, name: str = "rs_1", **fields: Any) -> Item:
    """Hidden reasoning: its summary, and what only its server can read."""
    return {
        "id": name,
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in words],
        "encrypted_content": f"encrypted {name}",
        **fields,
    }


def response(*items: Item, **fields: Any) -> dict[str, Any]:
    """A response that is completed, unless ``fields`` state otherwise."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.4",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE,
        **fields,
    }


def whole(*items: Item, **fields: Any) -> Reply:
    return reply(response(*items, **fields))


def incomplete(reason: str, *items: Item) -> Reply:
    details = {"reason": reason}
    return whole(*items, status="incomplete", incomplete_details=details)


def failed(code: str, message: str = "It failed.", *items: Item) -> Reply:
    error = {"code": code, "message": message}
    return whole(*items, status="failed", error=error, usage=None)


def events_of(
    *items: Item, end: str = "completed", output: Sequence[Item] | None = None
) -> list[dict[str, Any]]:
    """The events of a stream of these items. ``output`` is what the last event has of
    them; all of them, if it is None."""
    begun = response(status="in_progress", usage=None)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(items):
        begun_item = {**item, "status": "in_progress"}
        where = {"output_index": place, "item_id": item["id"]}
        events.append(
            {
                "type": "response.output_item.added",
                "output_index": place,
                "item": begun_item,
            }
        )
        if item["type"] == "message":
            events += _text_events(item, where)
        if item["type"] == "image_generation_call":
            events += _picture_events(where)
        events.append(
            {
                "type": "response.output_item.done",
                "output_index": place,
                "item": item,
            }
        )
    held = items if output is None else output
    ended = response(*held, status=end)
    events.append({"type": f"response.{end}", "response": ended})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return events


def streamed(*items: Item, **given: Any) -> Reply:
    return stream(*events_of(*items, **given))


def _text_events(item: Item, where: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for place, part in enumerate(item["content"]):
        text = part["text"]
        at = {**where, "content_index": place}
        begun = {"type": "output_text", "text": "", "annotations": []}
        events.append({"type": "response.content_part.added", **at, "part": begun})
        for piece in (text[:2], text[2:]):
            events.append(
                {
                    "type": "response.output_text.delta",
                    **at,
                    "delta": piece,
                    "logprobs": [],
                }
            )
        events += [
            {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": part},
        ]
    return events


def _picture_events(where: dict[str, Any]) -> list[dict[str, Any]]:
    partial = base64.b64encode(b"half a picture" * 8).decode()
    call = "response.image_generation_call"
    return [
        {"type": f"{call}.in_progress", **where},
        {"type": f"{call}.generating", **where},
        {
            "type": f"{call}.partial_image",
            **where,
            "partial_image_index": 0,
            "partial_image_b64": partial,
        },
        {"type": f"{call}.completed", **where},
    ]
