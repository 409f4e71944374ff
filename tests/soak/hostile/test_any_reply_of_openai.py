"""Whatever JSON a server of the Responses interface answers is an answer or a typed
error."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.responses.endpoint import ResponsesEndpoint
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Response
from tests.support.openai_calls import request, response
from tests.support.servers import Reply, reply, stream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "summary", "result", "error"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=9,
)
KINDS = ["message", "reasoning", "image_generation_call", "function_call", "other"]


def read(answer: Reply) -> Response:
    backend = OpenAIBackend(
        endpoint="responses",
        outputs="text+image",
        model="m",
        base_url="http://localhost/v1",
    )
    received = HttpReply(200, {"Content-Type": answer.content_type}, answer.body, 0.5)
    asked = request("draw", wants=("text", "image"))
    return ResponsesEndpoint(backend._settings).decode(received, asked)


@given(
    st.lists(
        st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional={}).flatmap(
            lambda item: st.dictionaries(
                st.sampled_from(["content", "summary", "result", "error", "status"]),
                VALUES,
            ).map(lambda fields: {**item, **fields})
        ),
        max_size=4,
    ),
    st.dictionaries(
        st.sampled_from(["status", "error", "incomplete_details", "usage", "id"]),
        VALUES,
    ),
)
@settings(max_examples=200)
def test_any_response_is_an_answer_or_an_error(
    items: list[Any], fields: dict[str, Any]
) -> None:
    try:
        answer = read(reply({**response(*items), **fields}))
    except CallError:
        return
    assert answer.output is not None


EVENTS = [
    "response.created",
    "response.output_item.done",
    "response.output_text.delta",
    "response.completed",
    "response.failed",
    "error",
    "other",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(EVENTS),
            st.dictionaries(
                st.sampled_from(
                    ["item", "response", "output_index", "delta", "error", "message"]
                ),
                VALUES,
            ),
        ),
        max_size=6,
    )
)
@settings(max_examples=200)
def test_any_stream_is_an_answer_or_an_error(events: list[Any]) -> None:
    rows = [{**fields, "type": kind} for kind, fields in events]
    try:
        answer = read(stream(*rows))
    except CallError:
        return
    assert answer.output is not None
