"""The backend against a strict server: requests and streams."""

import base64
import json
import wave
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from mmeval.errors import UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records import Response
from tests.support.openai_calls import (
    PNG,
    data_uri,
    failure,
    generate,
    generate_all,
    medium,
    request,
)
from tests.support.servers import Exchange, Reply, WireServer, chat, delta, stream
from tests.support.tiny_media import picture, sound, wav

CHAT = "/v1/chat/completions"
SECRET = "ws-secret-0123456789"
OAK = chat({"content": "oak"})
SAMPLES = bytes(range(256)) * 4


def shape(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [
        part.kind if part.text is None else part.text for part in response.output.parts
    ]


def answered(*replies: Reply, asked: Any = None, **arguments: Any) -> Response:
    """The answer to a chat, which the server gives in one of these replies."""
    with WireServer(Exchange(CHAT, replies)) as server:
        return generate(server.url, asked or request("q"), **arguments)


# --- requests -------------------------------------------------------------------------


def test_fields_of_the_user_are_merged_into_the_body() -> None:
    exchange = Exchange(
        CHAT,
        [OAK],
        body={
            "temperature": 0.0,
            "reasoning_effort": "low",
            "audio": {"voice": "verse", "format": "wav"},
        },
        absent=["seed", "extra_body"],
    )
    asked = request("q", wants=("text", "audio"), temperature=0.0)
    extra = {"seed": None, "reasoning_effort": "low", "audio": {"voice": "verse"}}
    with WireServer(exchange) as server:
        generate(server.url, asked, extra_body=extra, outputs="text+audio")
    assert server.faults == []


def test_azure_is_asked_with_its_header_and_its_query(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(SECRET)
    exchange = Exchange(
        CHAT,
        [OAK],
        headers={"api-key": SECRET},
        query={"api-version": "2025-04-01"},
        absent=["Authorization"],
    )
    with WireServer(exchange) as server:
        response = generate(
            server.url,
            request("q"),
            api_key_file=str(key),
            api_key_header="api-key",
            query="api-version=2025-04-01",
        )
    assert (shape(response), server.faults) == (["oak"], [])


def headers_file(folder: Path) -> str:
    file = folder / "headers.json"
    file.write_text(json.dumps({"X-Workspace": SECRET}))
    return str(file)


def test_headers_of_a_file_are_sent_and_known_by_their_names_alone(
    tmp_path: Path,
) -> None:
    backend = OpenAIBackend(
        model="m",
        base_url="http://localhost/v1",
        extra_headers_file=headers_file(tmp_path),
    )
    assert backend.identity["extra_headers"] == ["x-workspace"]
    assert SECRET not in f"{backend!r} {backend._settings!r} {backend.provenance}"
    exchange = Exchange(CHAT, [OAK], headers={"X-Workspace": SECRET})
    with WireServer(exchange) as server:
        generate(server.url, request("q"), extra_headers_file=headers_file(tmp_path))
    assert server.faults == []


def test_a_picture_of_another_format_is_sent_as_png_with_a_note() -> None:
    drawn = picture("BMP")
    with WireServer(Exchange(CHAT, [OAK])) as server:
        response = generate(server.url, request("see", medium(drawn)))
    assert response.warnings == ("a medium (image) is image/bmp and was sent as PNG",)


def test_a_sound_of_another_format_is_sent_as_wav() -> None:
    with WireServer(Exchange(CHAT, [OAK])) as server:
        taken = generate(
            server.url,
            request("hear", medium(sound("flac"))),
            audio_formats="wav+flac",
        )
        noted = generate(server.url, request("hear", medium(sound("flac"))))
    assert (taken.warnings, "WAV" in noted.warnings[0]) == ((), True)


def test_a_call_that_waits_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mmeval.model_backends.wire.backend.NOTICE_SECONDS", 0.0)
    with WireServer(Exchange(CHAT, [OAK])) as server:
        generate_all(server.url, [request("q"), request("r")])
    waits = [record for record in caplog.records if "has waited" in record.message]
    assert len(waits) == 1


@pytest.mark.parametrize(("send_seed", "count"), [(None, 1), (False, 0)])
def test_a_server_that_ignores_seeds_is_named(
    send_seed: bool | None,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    address = "https://api.anthropic.com/v1"
    OpenAIBackend(model="m", base_url=address, send_seed=send_seed)
    assert len(caplog.records) == count


@pytest.mark.parametrize(
    "arguments",
    [
        {"extra_body": {"messages": []}},
        {"query": "api_key=abcdefgh"},
        {"api_key_header": "Content-Type"},
        {"fetch_links": "https://host/x"},
        {"image_formats": "png+xyz"},
        {"audio_formats": "mp3"},
        {"images_dialect": "other"},
        {"batch": True, "stream": True},
        {"batch": True, "fetch_links": "host"},
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_used_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        OpenAIBackend(model="m", base_url="http://localhost/v1", **arguments)


@pytest.mark.parametrize("content", ["[1]", '{"X-A": 1}', '{"X-A": "a\\nb"}', "{"])
def test_a_file_that_holds_no_headers_is_refused_without_its_values(
    content: str, tmp_path: Path
) -> None:
    file = tmp_path / "headers.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=r"headers\.json"):
        OpenAIBackend(
            model="m", base_url="http://localhost/v1", extra_headers_file=str(file)
        )


# --- links ----------------------------------------------------------------------------


def linked(server: WireServer, path: str = "/x.png") -> Reply:
    url = f"http://{server.host}{path}"
    return chat({"content": [{"type": "image_url", "image_url": {"url": url}}]})


def test_a_link_of_a_named_host_is_fetched_without_key_and_headers(
    tmp_path: Path,
) -> None:
    file = Exchange(
        "/x.png", [Reply(PNG)], absent=["Authorization", "X-Workspace", "Cookie"]
    )
    with WireServer(file) as files, WireServer(Exchange(CHAT, [linked(files)])) as api:
        response = generate(
            api.url,
            request("q"),
            fetch_links=files.host,
            extra_headers_file=headers_file(tmp_path),
        )
    assert (shape(response), files.faults) == (["image"], [])


def test_a_redirect_to_a_host_that_is_not_named_is_not_followed() -> None:
    with WireServer(Exchange("/secret", [Reply(PNG)])) as other:
        away = Reply(
            b"", status=302, headers={"Location": f"http://{other.host}/secret"}
        )
        with (
            WireServer(Exchange("/x.png", [away])) as files,
            WireServer(Exchange(CHAT, [linked(files)])) as api,
        ):
            error = failure(api.url, fetch_links=files.host)
    assert (error.kind, other.count) == ("unsupported", 0)


# --- streams --------------------------------------------------------------------------


def test_a_stream_is_asked_for_with_its_usage() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 5}
    whole = stream(
        delta(role="assistant", content=""),
        delta(reasoning_content="Acorns."),
        delta(content="o"),
        delta("length", content="ak"),
        {"choices": [], "usage": usage},
        "[DONE]",
    )
    exchange = Exchange(
        CHAT, [whole], body={"stream": True, "stream_options": {"include_usage": True}}
    )
    with WireServer(exchange) as server:
        response = generate(server.url, request("q"), stream=True)
    assert (shape(response), response.finish_reason) == (["Acorns.", "oak"], "length")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 5)


@pytest.mark.parametrize("end", [0, 7], ids=["no end", "half an event"])
def test_a_stream_that_is_cut_is_no_answer(end: int) -> None:
    events = [delta(content="oa"), delta("stop", content="k")]
    sends = len(stream(events[0]).body) + end
    with WireServer(Exchange(CHAT, [stream(*events, sends=sends)])) as server:
        error = failure(server.url)
    assert error.kind == "connection"


def test_a_stream_that_is_cut_behind_its_end_is_whole() -> None:
    events = [delta("stop", content="oak"), "[DONE]"]
    sends = len(stream(events[0]).body)
    assert shape(answered(stream(*events, sends=sends))) == ["oak"]


def test_an_error_in_a_stream_is_the_answer_whatever_came() -> None:
    broken = {"error": {"message": "overloaded", "code": 502}}
    events = stream(delta("stop", content="oa"), broken, "[DONE]")
    with WireServer(Exchange(CHAT, [events])) as server:
        error = failure(server.url)
    assert (error.kind, "overloaded" in error.message) == ("server", True)


@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_in_any_pieces_is_read(size: int) -> None:
    text = "Grün – 木"
    events = "".join(
        f": alive\r\nevent: message\r\ndata:{json.dumps(row, ensure_ascii=False)}"
        "\r\n\r\n"
        for row in (*(delta(content=char) for char in text), delta("stop"))
    ).encode()
    body = b"".join(events[at : at + size] for at in range(0, len(events), size))
    assert shape(answered(Reply(body, content_type="text/event-stream"))) == [text]


def test_a_silent_stream_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.model_backends.wire.transport.SILENCE_SECONDS", 0.2)
    half = stream(delta(content="oa"), delta("stop"))
    held = Reply(
        half.body[:40],
        content_type="text/event-stream",
        headers={"Content-Length": "999"},
    )
    with WireServer(Exchange(CHAT, [held])) as server:
        error = failure(server.url)
    assert error.kind in ("connection", "bad_reply")


def test_a_stream_above_the_limit_is_an_error() -> None:
    long = stream(delta(content="x" * 9999), delta("stop"))
    with WireServer(Exchange(CHAT, [long])) as server:
        error = failure(server.url, max_reply_bytes=5000)
    assert (error.kind, "max_reply_bytes" in error.message) == ("bad_reply", True)


def samples_of(response: Response) -> tuple[int, bytes]:
    assert response.output is not None
    [spoken] = response.output.media("audio")
    with wave.open(BytesIO(spoken.read())) as file:
        return file.getframerate(), file.readframes(file.getnframes())


@pytest.mark.parametrize("length", [4, 5, 1000])
def test_samples_in_pieces_are_one_sound_after_the_text(length: int) -> None:
    letters = base64.b64encode(SAMPLES).decode()
    pieces = [letters[at : at + length] for at in range(0, len(letters), length)]
    sounds = [delta(audio={"data": piece}) for piece in pieces]
    response = answered(
        stream(delta(content="Hel"), *sounds, delta(content="lo."), delta("stop"))
    )
    assert shape(response) == ["Hello.", "audio"]
    assert samples_of(response) == (24_000, SAMPLES)


def test_padding_inside_a_sound_begins_anew() -> None:
    halves = [SAMPLES[:500], SAMPLES[500:]]
    sounds = [
        delta(audio={"data": base64.b64encode(half).decode(), "transcript": "Hi"})
        for half in halves
    ]
    response = answered(stream(*sounds, delta("stop")))
    assert shape(response) == ["HiHi", "audio"]
    assert samples_of(response)[1] == SAMPLES


def test_files_in_chunks_are_joined_by_their_samples() -> None:
    whole = [wav(800), wav(400)]
    chunks: list[dict[str, Any]] = [
        {**delta(content=base64.b64encode(file).decode()), "modality": "audio"}
        for file in (*whole, b"")
    ]
    text = {**delta(content="Hello."), "modality": "text"}
    response = answered(stream(text, *chunks, delta("stop")))
    assert shape(response) == ["Hello.", "audio"]
    assert len(samples_of(response)[1]) == 2 * 1200


# --- nothing is lost ------------------------------------------------------------------

LETTERS = st.binary(min_size=60, max_size=90).map(
    lambda tail: b"\x89PNG\r\n\x1a\n" + tail
)


def uri_of(data: bytes) -> str:
    return data_uri(data, "image/png")


def bare_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


WRITTEN = st.sampled_from(
    (
        uri_of,
        bare_of,
        lambda data: bare_of(data).rstrip("="),
        lambda data: f"@{bare_of(data)}",
    )
)
NAMES = st.sampled_from(
    ("image", "image_url", "audio", "source", "data", "url", "hologram", "b64_json")
)
TYPES = st.sampled_from(
    (None, "image_url", "image", "input_audio", "document", "hologram", "file")
)


@st.composite
def items(draw: st.DrawFn) -> tuple[bytes, Any]:
    """A medium, and an item of a reply that holds it in some shape."""
    data = draw(LETTERS)
    value: Any = draw(WRITTEN)(data)
    for _ in range(draw(st.integers(0, 3))):
        value = {draw(NAMES): value}
    kind = draw(TYPES)
    if isinstance(value, dict) and kind is not None:
        value = {"type": kind, **value}
    return data, value


@st.composite
def messages(draw: st.DrawFn) -> tuple[list[bytes], dict[str, Any]]:
    """The media of a message, and the message."""
    media: list[bytes] = []
    message: dict[str, Any] = {"role": "assistant"}
    content: Any = draw(st.sampled_from((None, "", "words", [])))
    if isinstance(content, list):
        for data, item in draw(st.lists(items(), max_size=3)):
            media.append(data)
            # texts in a row are one: base64 behind a data URI would be a part of it
            content.append(f"{item} " if isinstance(item, str) else item)
    message["content"] = content
    for name in draw(
        st.lists(
            st.sampled_from(("images", "image", "audio", "video", "extra", "picture")),
            max_size=2,
            unique=True,
        )
    ):
        data, item = draw(items())
        media.append(data)
        message[name] = [item] if name == "images" else item
    return media, message
