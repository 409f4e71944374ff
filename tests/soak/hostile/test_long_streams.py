"""Long streams of Gemini."""

import json

import pytest

from tests.support.gemini import STREAM, exchanged, generated
from tests.support.openai_calls import request
from tests.support.servers import Scripted


@pytest.mark.timeout(60)
def test_a_long_stream_takes_time_in_proportion_to_its_length() -> None:
    piece = json.dumps(generated({"text": "x" * 100}, reason=None))
    end = json.dumps(generated())
    body = f"data: {piece}\n\n".encode() * 20_000 + f"data: {end}\n\n".encode()
    reply = Scripted(body, headers=STREAM)
    response = exchanged(request("q"), reply, stream=True)[0]
    assert len(response.text) == 2_000_000
