"""Whatever JSON a server answers is an answer or a typed error."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.model_backends.gemini import GeminiBackend
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Response
from tests.support.gemini import streamed
from tests.support.openai_calls import request

NAMES = (
    *("candidates", "content", "parts", "text", "thought", "inlineData", "data"),
    *("mimeType", "finishReason", "index", "promptFeedback", "blockReason"),
    *("usageMetadata", "executableCode", "code", "functionCall", "fileData", "error"),
    *("steps", "status", "type", "summary", "signature", "errors", "usage", "outputs"),
    *("event_type", "step", "delta", "interaction", "audioTranscription"),
)
WORDS = st.sampled_from(
    [
        *("text", "image", "audio", "model_output", "thought", "completed", "failed"),
        *("STOP", "SAFETY", "OTHER", "audio/L16;rate=9", "AAAA", "step.start"),
        *("step.delta", "interaction.completed", "thought_signature", "", "x"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


def candidate(parts: Any, reason: Any) -> dict[str, Any]:
    return {"content": {"parts": parts}, "finishReason": reason}


ROWS = (
    VALUES
    | st.builds(lambda *given: {"candidates": [candidate(*given)]}, VALUES, LEAVES)
    | st.builds(lambda *given: {"status": given[0], "steps": given[1]}, WORDS, VALUES)
    | st.builds(
        lambda *given: {"event_type": given[0], "index": 0, "delta": given[1]},
        WORDS,
        VALUES,
    )
)


@pytest.mark.parametrize("api", ["generate", "interactions"])
@given(rows=st.lists(ROWS, min_size=1, max_size=4), is_stream=st.booleans())
def test_any_reply_is_an_answer_or_a_typed_error(
    api: Any, rows: list[Any], is_stream: bool
) -> None:
    backend = GeminiBackend(model="m", base_url="http://localhost", api=api)
    asked = request("q")
    body, kind = json.dumps(rows[0]).encode(), "application/json"
    if is_stream:
        body, kind = streamed(*map(json.dumps, rows)).payload, "text/event-stream"
    received = HttpReply(200, {"Content-Type": kind}, body, 0.0)
    try:
        response = backend._endpoint(asked).decode(received, asked)
    except CallError:
        return
    assert isinstance(response, Response)
    json.dumps(response.to_json())
