"""Streams of chats, put together."""

import base64
import json
from typing import Any

import pytest

from mmeval.model_backends.openai.chunks import whole_reply
from mmeval.model_backends.wire.failures import CallError

LETTERS = "QUJDREVGR0hJ" * 12
SOUND = base64.b64encode(bytes(range(100))).decode()


def joined(*chunks: Any) -> dict[str, Any]:
    """The reply that these chunks make."""
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return whole_reply("".join(events).encode())


def message(*deltas: dict[str, Any], **choice: Any) -> dict[str, Any]:
    """The message that these deltas make, whose last ends the answer."""
    chunks = [{"choices": [{"delta": delta, **choice}]} for delta in deltas]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    whole: dict[str, Any] = joined(*chunks, end)["choices"][0]["message"]
    return whole


@pytest.mark.parametrize("name", ["image", "images", "video"])
def test_a_medium_beside_the_content_stands_where_it_came(name: str) -> None:
    medium = {"url": "data:image/png;base64,AAAA"}
    content = message({"content": "a"}, {name: medium}, {"content": "b"})["content"]
    assert [item.get("text") for item in content] == ["a", None, "b"]


@pytest.mark.parametrize("item", [{"type": "image", "data": "AAAA"}, 7])
def test_an_item_of_the_content_that_is_not_text_stands_as_it_came(item: Any) -> None:
    listed = message({"content": [{"type": "text", "text": "a"}, item, "b"]})
    alone = message({"content": item})
    text, kept, last = listed["content"]
    assert text["text"] == "a"
    assert kept == item
    assert last["text"] == "b"
    assert alone["content"] == [item]


def test_a_sound_that_is_not_an_object_is_an_item_of_the_content() -> None:
    content = message({"audio": [SOUND]})["content"]
    assert content == [{"type": "audio", "audio": [SOUND]}]


def test_the_picture_of_a_chunk_of_pictures_is_an_item() -> None:
    chunk = {"modality": "image", "choices": [{"delta": {"content": LETTERS}}]}
    end = {"choices": [{"finish_reason": "stop"}]}
    content = joined(chunk, end)["choices"][0]["message"]["content"]
    assert content == [{"type": "image", "data": LETTERS}]


@pytest.mark.parametrize(
    ("audio", "choice"),
    [
        ({"data": SOUND, "sample_rate": 16000}, {}),
        ({"data": SOUND, "audio_metadata": {"sample_rate_hz": 16000}}, {}),
        ({"data": SOUND}, {"audio_metadata": {"sample_rate_hz": 16000}}),
    ],
    ids=["delta", "metadata of the delta", "metadata of the choice"],
)
def test_the_rate_of_samples_is_the_one_stated(
    audio: dict[str, Any], choice: dict[str, Any]
) -> None:
    (sound,) = message({"audio": audio}, **choice)["audio"]
    stated = sound["audio_metadata"].get("sample_rate_hz", sound["sample_rate"])
    assert stated == 16_000


@pytest.mark.parametrize(
    "pieces",
    [
        [{"hologram": LETTERS[:60]}, {"hologram": LETTERS[60:]}],
        [{"hologram": {"data": LETTERS[:60]}}, {"hologram": {"data": LETTERS[60:]}}],
    ],
    ids=["texts", "objects"],
)
def test_the_pieces_of_an_unknown_field_are_one(pieces: list[dict[str, Any]]) -> None:
    whole = message(*pieces)["hologram"]
    assert LETTERS in (whole, dict(whole)["data"] if isinstance(whole, dict) else "")


def test_an_unknown_field_of_a_choice_is_kept() -> None:
    assert message({"content": "a"}, frames=[LETTERS])["frames"] == [[LETTERS]]


def test_a_sentence_in_place_of_a_picture_is_text() -> None:
    chunk = {"modality": "image", "choices": [{"delta": {"content": "No image."}}]}
    end = {"choices": [{"finish_reason": "stop"}]}
    content = joined(chunk, end)["choices"][0]["message"]["content"]
    assert content == [{"type": "text", "text": "No image."}]


def test_a_function_that_is_called_in_pieces_has_its_name() -> None:
    whole = message(
        {"function_call": {"name": "dr"}}, {"function_call": {"name": "aw"}}
    )
    assert whole["tool_calls"] == [{"function": {"name": "draw"}}]


def test_a_whole_message_behind_its_deltas_is_not_said_twice() -> None:
    said = {"choices": [{"delta": {"content": "a cat"}}]}
    end = {"delta": {}, "message": {"content": "a cat"}, "finish_reason": "stop"}
    (choice, _) = joined(said, {"choices": [end]})["choices"]
    assert [item["text"] for item in choice["message"]["content"]] == ["a cat"]


def test_an_empty_reason_is_no_end() -> None:
    with pytest.raises(CallError, match="no end"):
        joined({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]})


def test_an_error_in_a_list_is_that_error() -> None:
    with pytest.raises(CallError, match="busy") as caught:
        joined([{"error": {"message": "busy", "code": 503}}])
    assert caught.value.kind == "server"
