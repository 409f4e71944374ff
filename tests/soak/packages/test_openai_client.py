"""The client of OpenAI itself takes the replies that our tests give, and has types for
what we ask: the shapes are theirs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ImageGeneration
from pydantic import TypeAdapter

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.responses.endpoint import ResponsesEndpoint
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Message, Request, message, user
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import (
    PDF,
    PNG,
    RESPONSES,
    drawn,
    events_of,
    failed,
    incomplete,
    medium,
    not_drawn,
    refusal,
    request,
    response,
    said,
    streamed,
    thought,
    whole,
)
from tests.support.servers import Exchange, Reply, WireServer, stream

ITEMS = [
    thought("Hm.", content=[{"type": "reasoning_text", "text": "Hm, a tree."}]),
    said("First:", phase="commentary"),
    drawn(PNG),
    said("Done.", name="msg_2", phase="final_answer"),
]


@contextmanager
def responses(server: WireServer | MockServer) -> Iterator[Any]:
    """The part of the client that asks for responses; its connections end with it."""
    with openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
        yield client.responses


@pytest.mark.parametrize(
    "answer",
    [
        whole(*ITEMS),
        whole(status="queued", usage=None),
        whole(refusal("I cannot.")),
        whole(not_drawn("moderation_blocked", "Blocked."), not_drawn()),
        incomplete("max_output_tokens", said("First:")),
        incomplete("content_filter"),
        failed("server_error"),
        failed("invalid_prompt"),
    ],
    ids=[
        "answer",
        "queued",
        "refusal",
        "blocked",
        "cut off",
        "filtered",
        "failed",
        "policy",
    ],
)
def test_a_response_has_the_types_of_the_client(answer: Reply) -> None:
    row = json.loads(answer.body)
    strict = openai.types.responses.Response.model_validate(row)
    with (
        WireServer(Exchange(RESPONSES, [answer])) as server,
        responses(server) as asking,
    ):
        read = asking.create(model="m", input="draw")
    assert read == strict
    assert [item.type for item in read.output] == [
        item["type"] for item in row["output"]
    ]


def test_the_client_reads_words_and_pictures() -> None:
    with (
        WireServer(Exchange(RESPONSES, [whole(*ITEMS)])) as server,
        responses(server) as asking,
    ):
        read = asking.create(model="m", input="draw")
    assert read.output_text == "First:Done."
    assert read.output[2].result == ITEMS[2]["result"]


@pytest.mark.parametrize("end", ["completed", "incomplete", "failed"])
def test_a_stream_has_the_types_of_the_client(end: str) -> None:
    types = TypeAdapter(openai.types.responses.ResponseStreamEvent)
    sent = events_of(*ITEMS, end=end)
    answer = Exchange(RESPONSES, [streamed(*ITEMS, end=end)])
    with WireServer(answer) as server, responses(server) as asking:
        read = list(asking.create(model="m", input="q", stream=True))
    assert read == [types.validate_python(event) for event in sent]


def test_the_stand_in_server_answers_the_client() -> None:
    tools = [{"type": "image_generation"}]
    with MockServer(reply="oak") as server, responses(server) as asking:
        read = asking.create(model="m", input="q", tools=tools)
    row = read.model_dump(exclude_unset=True)
    assert read == openai.types.responses.Response.model_validate(row)
    kinds = [item.type for item in read.output]
    assert kinds == ["reasoning", "message", "image_generation_call"]
    assert read.output_text == "oak"


def test_a_response_in_the_background_is_looked_up() -> None:
    queued = whole(status="queued", usage=None)
    asked = Exchange(RESPONSES, [queued], body={"background": True})
    job = Exchange(f"{RESPONSES}/resp_1", [whole(*ITEMS)])
    with WireServer(asked, job) as server, responses(server) as asking:
        begun = asking.create(model="m", input="q", background=True)
        read = asking.retrieve(begun.id)
    assert (begun.status, read.status) == ("queued", "completed")


def test_an_error_in_a_stream_is_one_for_the_client() -> None:
    error = {"type": "error", "code": "server_error", "message": "oops", "param": None}
    events = stream({"type": "response.created", "response": response()}, error)
    with (
        WireServer(Exchange(RESPONSES, [events])) as server,
        responses(server) as asking,
    ):
        *_, last = asking.create(model="m", input="q", stream=True)
    assert (last.type, last.message) == ("error", "oops")


def test_a_request_has_the_types_of_the_client() -> None:
    backend = OpenAIBackend(
        model="m",
        base_url="http://localhost/v1",
        endpoint="responses",
        outputs="text+image",
        image_tool={"model": "gpt-image-1.5", "quality": "high"},
    )
    endpoint = ResponsesEndpoint(backend._settings)
    reply = HttpReply(200, {}, whole(*ITEMS).body, 0.1)
    earlier = endpoint.decode(reply, request("q"))
    assert earlier.output is not None
    messages = (
        message("system", "Be brief."),
        user("see", medium(PNG), medium(PDF)),
        message("assistant", "an answer of another model"),
        user("go on"),
        Message("assistant", earlier.output, earlier.turn),
        user("and on"),
    )
    asked = Request(messages, wants=("text", "image"))
    body = json.loads(endpoint.encode(asked).body)
    item_type: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
    for item in body["input"]:
        item_type.validate_python(item)
    TypeAdapter(ImageGeneration).validate_python(body["tools"][0])
    assert len(body["input"]) == 4 + len(ITEMS)
