import base64
import wave
from io import BytesIO
from typing import Any

import pytest

from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.replies.answer import AnswerReader
from tests.support.openai_calls import PDF, PNG, WAV, data_uri

URI = data_uri(PNG, "image/png")
BASE64 = base64.b64encode(PNG).decode()
LONG = base64.b64encode(PNG + bytes(60)).decode()
SOUND = base64.b64encode(WAV).decode()
SAMPLES = bytes(range(200))
JPEG = b"\xff\xd8\xff\xe0" + b"pixels"


def read(message: dict[str, Any], **arguments: Any) -> tuple[list[str], AnswerReader]:
    """The parts of a message, texts as they are and media by their kinds."""
    reader = AnswerReader(**arguments)
    reader.message(message)
    parts = reader.answer().parts
    return [part.kind if part.text is None else part.text for part in parts], reader


IMAGES: list[dict[str, Any]] = [
    {"type": "image_url", "image_url": {"url": URI}},
    {"type": "image_url", "image_url": URI},
    {"type": "image_url", "image_url": {"url": BASE64}},
    {"type": "input_image", "image_url": URI},
    {"type": "output_image", "image_url": URI},
    {"type": "image", "image": BASE64},
    {"type": "image", "image": {"b64_json": BASE64}},
    {"type": "image", "image": {"url": URI}},
    {"type": "image", "image_base64": BASE64},
    {"type": "image", "b64_json": BASE64},
    {"type": "image", "data": BASE64, "mime_type": "image/png"},
    {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": BASE64},
    },
    {"inlineData": {"mimeType": "image/png", "data": BASE64}},
    {"inline_data": {"mime_type": "image/png", "data": BASE64}},
    {"type": "file", "file": {"file_data": URI}},
    {"image_url": {"url": URI}},
    {"b64_json": BASE64, "url": None, "revised_prompt": "a cat"},
]


@pytest.mark.parametrize("item", IMAGES, ids=str)
def test_a_picture_is_read_in_every_shape(item: dict[str, Any]) -> None:
    shapes, reader = read({"content": [{"type": "text", "text": "a"}, item, "b"]})
    assert shapes == ["a", "image", "b"]
    assert reader.warnings == ()


@pytest.mark.parametrize(
    "item",
    [
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
        {"type": "output_audio", "audio": {"data": SOUND, "transcript": "hi"}},
        {"type": "audio", "audio": {"data": SOUND}},
        {"type": "audio", "data": SOUND, "mime_type": "audio/wav"},
        {"type": "audio_url", "audio_url": {"url": data_uri(WAV, "audio/wav")}},
    ],
    ids=str,
)
def test_a_sound_is_read_in_every_shape(item: dict[str, Any]) -> None:
    shapes, _ = read({"content": [{"type": "text", "text": "a"}, item]})
    assert shapes == ["a", "audio"]


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        ({"type": "output_text", "text": "a"}, ["a"]),
        ({"type": "text", "text": {"value": "a"}}, ["a"]),
        ({"type": "text", "text": None}, []),
        ({"text": "a", "thought": True}, ["a"]),
        ({"type": "thinking", "thinking": "hm", "signature": "c2ln" * 40}, ["hm"]),
        ({"type": "reasoning", "summary": [{"text": "h"}, {"text": "m"}]}, ["hm"]),
        (
            {"type": "document", "source": {"data": base64.b64encode(PDF).decode()}},
            ["document"],
        ),
    ],
    ids=str,
)
def test_words_and_documents_are_read(item: dict[str, Any], parts: list[str]) -> None:
    shapes, reader = read({"content": [item, ""]})
    lost = [text for text in reader.warnings if "left out" in text]
    assert shapes == parts
    assert lost == []


def test_a_medium_that_stands_in_the_content_and_beside_it_is_one_part() -> None:
    shapes, _ = read({"content": ["a", IMAGES[0]], "images": [IMAGES[1], URI]})
    assert shapes == ["a", "image", "image"]


def test_a_reference_to_a_picture_beside_the_content_places_it() -> None:
    first = {"image_url": data_uri(JPEG, "image/jpeg"), "id": "1"}
    second = {"image_url": URI, "id": "2"}
    reference = {"type": "image_ref", "image_ref": {"id": "2"}}
    shapes, _ = read({"content": ["a", reference, "b"], "images": [first, second]})
    assert shapes == ["a", "image", "b", "image"]


@pytest.mark.parametrize(
    "payload",
    [base64.b64encode(bytes(range(256)) * 4).decode(), "x" * 1024],
    ids=["base64", "words"],
)
def test_an_unknown_part_is_left_out_with_its_bytes(payload: str) -> None:
    hologram = {"type": "hologram", "id": "h1", "hologram": {"payload": payload}}
    shapes, reader = read({"content": [{"type": "text", "text": "a"}, hologram]})
    assert shapes == ["a"]
    left_out = "left out of the answer: hologram (1,024 bytes"
    assert reader.warnings[0].startswith(left_out)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "a", "picture": URI},
        {
            "content": "a",
            "extra": {"deep": [{"bytes": base64.b64encode(PDF * 9).decode()}]},
        },
    ],
)
def test_a_medium_in_an_unknown_field_is_a_warning(message: dict[str, Any]) -> None:
    _, reader = read(message)
    assert len(reader.warnings) == 1


def test_what_is_known_to_be_no_part_gives_no_warning() -> None:
    letters = "QUJDabc1" * 20
    _, reader = read(
        {
            "content": "a",
            "annotations": [{"title": letters}],
            "thought_signatures": [letters],
            "reasoning_details": [{"type": "reasoning.encrypted", "data": letters}],
            "thinking_blocks": [{"thinking": "x", "signature": letters}],
            "provider_specific_fields": {"id": letters, "logprobs": [letters]},
        }
    )
    assert reader.warnings == ()


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"tool_calls": [{"function": {"name": "draw", "arguments": "{}"}}]}, "draw"),
        ({"function_call": {"name": "draw"}}, "draw"),
        ({"content": [{"type": "tool_use", "name": "draw", "input": {}}]}, "draw"),
        ({"content": [{"functionCall": {"name": "draw"}}]}, "draw"),
    ],
)
def test_a_call_of_a_tool_is_a_warning_with_its_name(
    message: dict[str, Any], name: str
) -> None:
    shapes, reader = read(message)
    assert shapes == []
    assert name in reader.warnings[0]


def test_the_words_of_a_refusal_follow_what_came() -> None:
    shapes, reader = read({"content": "First,", "refusal": "I will not."})
    assert shapes == ["First,I will not."]
    assert reader.refused is True


@pytest.mark.parametrize(
    "item",
    [
        {"type": "image_url", "image_url": {"url": "https://cdn/x.png"}},
        {"type": "image_url", "image_url": {"url": "/files/x.png"}},
        {"fileData": {"fileUri": "https://host/files/1"}},
        {"type": "image_file", "image_file": {"file_id": "file-1"}},
    ],
    ids=str,
)
def test_a_link_in_place_of_a_medium_is_an_error_that_is_not_repeated(
    item: dict[str, Any],
) -> None:
    with pytest.raises(CallError, match="fetch_links=") as caught:
        read({"content": [{"type": "text", "text": "a"}, item]})
    assert caught.value.kind == "unsupported"


def test_a_link_to_a_picture_in_a_text_is_a_warning_where_one_is_wanted() -> None:
    text = "Here: ![image](https://cdn/x.png)"
    shapes, reader = read({"content": text}, wants=("text", "image"))
    assert shapes == [text]
    assert "fetch_links=cdn" in reader.warnings[0]
    assert read({"content": text}, wants=("text",))[1].warnings == ()


def test_a_plain_link_is_a_warning_where_no_medium_came() -> None:
    text = "It is at https://cdn/x.png."
    shapes, reader = read({"content": text}, wants=("image",))
    assert shapes == [text]
    assert "fetch_links=cdn" in reader.warnings[0]
    _, reader = read({"content": text, "images": [URI]}, wants=("image",))
    assert reader.warnings == ()


def test_a_damaged_medium_beside_words_is_a_warning() -> None:
    item = {"type": "image_url", "image_url": {"url": "data:image/png;base64,@@@"}}
    shapes, reader = read({"content": [{"type": "text", "text": "a"}, item]})
    assert shapes == ["a"]
    assert "cannot be decoded" in reader.warnings[0]


def test_an_answer_of_hidden_reasoning_alone_says_so() -> None:
    shapes, reader = read({"content": "", "reasoning_content": "The answer is oak"})
    assert shapes == ["The answer is oak"]
    assert "17 characters" in reader.warnings[0]


def wave_of(medium: bytes) -> tuple[int, int, bytes]:
    with wave.open(BytesIO(medium)) as sound:
        count = sound.getnframes()
        return sound.getframerate(), sound.getnchannels(), sound.readframes(count)


@pytest.mark.parametrize(
    ("fields", "rate", "warned"),
    [
        ({}, 24_000, 1),
        ({"format": "pcm16"}, 24_000, 1),
        ({"sample_rate": 16_000}, 16_000, 0),
        ({"mime_type": "audio/L16;codec=pcm;rate=8000"}, 8_000, 0),
        ({"audio_metadata": {"sample_rate_hz": 44_100, "channels": 1}}, 44_100, 0),
    ],
    ids=str,
)
def test_a_sound_without_a_header_becomes_a_wave(
    fields: dict[str, Any], rate: int, warned: int
) -> None:
    reader = AnswerReader()
    data = base64.b64encode(SAMPLES).decode()
    reader.message({"content": None, "audio": {"data": data, **fields}})
    [medium] = reader.answer().media("audio")
    assert wave_of(medium.read()) == (rate, 1, SAMPLES)
    assert len(reader.warnings) == warned


def test_a_wave_is_kept_byte_by_byte() -> None:
    reader = AnswerReader()
    reader.message({"content": None, "audio": {"data": SOUND, "format": "pcm16"}})
    assert reader.answer().media("audio")[0].read() == WAV


def test_a_data_uri_that_pieces_of_a_text_split_is_one_picture() -> None:
    half = len(URI) // 2
    pieces = [f"One: ![a]({URI[:half]}", f"{URI[half:]}) end"]
    shapes, _ = read({"content": [{"type": "text", "text": text} for text in pieces]})
    assert shapes == ["One: ", "image", " end"]


def test_a_placeholder_in_the_text_places_a_picture() -> None:
    shapes, _ = read({"content": "a <<image1>> b", "images": [URI]})
    assert shapes == ["a ", "image", " b"]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "text", "text": "a", "image_url": {"url": URI}},
        {"text": "a", "inlineData": {"mimeType": "image/png", "data": LONG}},
        {"type": "image_url", "image_url": {"url": URI}, "mask": LONG},
        {"type": "hologram", "data": "QUJD" * 20},
        {"type": "citation", "url": "https://files.example.com/x.png"},
    ],
    ids=str,
)
def test_what_else_an_item_holds_is_a_warning(item: dict[str, Any]) -> None:
    _, reader = read({"content": ["b", item]})
    assert "left out of the answer" in reader.warnings[0]


def test_a_known_file_in_an_item_of_an_unknown_type_is_kept() -> None:
    shapes, _ = read({"content": [{"type": "drawing", "data": BASE64}]})
    assert shapes == ["image"]


def test_the_name_of_a_file_is_a_link() -> None:
    with pytest.raises(CallError, match="fetch_links"):
        read({"content": [{"fileData": {"fileUri": "files/abc123"}}]})


def test_a_summary_of_plain_texts_is_reasoning() -> None:
    shapes, _ = read({"content": [{"type": "reasoning", "summary": ["a ", "b"]}]})
    assert shapes == ["a b"]


@pytest.mark.parametrize(
    "sound",
    [
        {"type": "input_audio", "input_audio": base64.b64encode(SAMPLES).decode()},
        {"type": "audio", "data": base64.b64encode(SAMPLES).decode()},
    ],
    ids=str,
)
def test_the_choice_may_state_the_rate_of_its_sound(sound: dict[str, Any]) -> None:
    reader = AnswerReader()
    reader.message({"content": [sound]}, {"sample_rate_hz": "16000"})
    (part,) = reader.answer().parts
    assert part.media is not None
    rate, *_ = wave_of(part.media.read())
    assert rate == 16_000


def test_a_type_may_be_anything() -> None:
    details = [{"type": ["list"], "text": "Hm."}]
    message = {"content": ["b", {"type": {"a": 1}}], "reasoning_details": details}
    shapes, reader = read(message)
    assert shapes == ["Hm.", "b"]
    assert len(reader.warnings) == 1
