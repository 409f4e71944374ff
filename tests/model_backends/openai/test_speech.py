import json

import pytest

from mmeval.records.sample import message, user
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import PNG, WAV, failure, generate, medium, request
from tests.support.servers import Scripted, ScriptedServer


@pytest.mark.parametrize(
    ("endpoint", "outputs"), [("speech", ""), ("auto", "text+audio")]
)
def test_text_is_read_aloud(
    endpoint: str, outputs: str, mock_server: MockServer
) -> None:
    response = generate(
        mock_server.url,
        request("hello", wants=("audio",)),
        endpoint=endpoint,
        outputs=outputs,
    )
    assert response.output is not None
    assert [
        (part.kind, part.media and part.media.mime) for part in response.output.parts
    ] == [("audio", "audio/wav")]
    assert mock_server.stats()["paths"] == {"/v1/audio/speech": 1}


def test_the_request_has_the_fields_of_the_interface() -> None:
    options = {"audio.voice": "verse", "audio.format": "mp3"}
    asked = request(
        message("system", "whisper"),
        user("hello"),
        user("you"),
        wants=("audio",),
        options=options,
    )
    with ScriptedServer(Scripted(WAV)) as server:
        generate(server.url, asked, endpoint="speech")
    body = {
        "model": "m",
        "input": "hello\n\nyou",
        "voice": "verse",
        "response_format": "mp3",
    }
    assert server.seen[0].json == {**body, "instructions": "whisper"}


def test_input_that_is_no_text_is_unsupported() -> None:
    error = failure(
        "http://localhost:1/v1",
        request(medium(PNG), wants=("audio",)),
        endpoint="speech",
    )
    assert error.kind == "unsupported"
    assert "image" in error.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "bad_reply"),
        (PNG, "bad_reply"),
        (
            json.dumps({"error": {"message": "busy", "code": 429}}).encode(),
            "rate_limit",
        ),
    ],
    ids=["empty", "picture", "error"],
)
def test_a_reply_that_is_no_sound_is_an_error(body: bytes, kind: str) -> None:
    with ScriptedServer(Scripted(body)) as server:
        assert (
            failure(
                server.url, request("hello", wants=("audio",)), endpoint="speech"
            ).kind
            == kind
        )
