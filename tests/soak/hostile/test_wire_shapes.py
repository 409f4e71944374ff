"""Replies of any shape."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.openai.chunks import whole_reply
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Response
from tests.stories.test_wire_shapes import bare_of, messages
from tests.support.openai_calls import (
    request,
)
from tests.support.servers import chat, stream


def is_lost(data: bytes, response: Response) -> bool:
    """Whether a medium is neither a part, nor in the words, without any warning."""
    assert response.output is not None
    if data in [medium.read() for medium in response.output.media()]:
        return False
    is_text = bare_of(data).rstrip("=") in response.output.raw
    return not is_text and not response.warnings


@given(messages(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_medium_of_a_reply_is_lost_without_a_warning(
    given_message: tuple[list[bytes], dict[str, Any]], streamed: bool
) -> None:
    media, message = given_message
    body = chat(message).body
    if streamed:
        choice = {"index": 0, "delta": message, "finish_reason": "stop"}
        body = json.dumps(whole_reply(stream({"choices": [choice]}).body)).encode()
    backend = OpenAIBackend(
        model="m", base_url="http://localhost/v1", outputs="text+image"
    )
    endpoint = ChatEndpoint(backend._settings)
    asked = request("q", wants=("text", "image"))
    try:
        response = endpoint.decode(HttpReply(200, {}, body, 0.1), asked)
    except CallError:
        return
    held = [data for data in media if bare_of(data).rstrip("=").encode() in body]
    assert [data for data in held if is_lost(data, response)] == []
