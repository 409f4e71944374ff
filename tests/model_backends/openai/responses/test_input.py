import json
from typing import Any

import pytest

from mmeval.media import Interleaved, Media
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Message, Request, Turn, message, user
from tests.support.openai_calls import (
    MP4,
    PDF,
    PNG,
    WAV,
    data_uri,
    drawn,
    endpoint,
    medium,
    request,
    response,
    said,
    thought,
)

HELLO = {"role": "user", "content": [{"type": "input_text", "text": "hello"}]}


def sent(*messages: Message, **arguments: Any) -> Any:
    return json.loads(endpoint(**arguments).encode(Request(messages)).body)


def answer(body: bytes, **arguments: Any) -> Message:
    """An answer as a message of a later request."""
    decoded = endpoint(**arguments).decode(HttpReply(200, {}, body, 0.1), request("q"))
    assert decoded.output is not None
    return Message("assistant", decoded.output, decoded.turn)


# --- messages -------------------------------------------------------------------------


def test_system_messages_at_the_beginning_are_instructions() -> None:
    body = sent(message("system", "Be brief."), message("system", "Be kind."))
    assert body["instructions"] == "Be brief.\n\nBe kind."


def test_a_later_system_message_stays_in_its_place() -> None:
    body = sent(user("hello"), message("system", "Now in French."), user("hello"))
    french = {"role": "system", "content": "Now in French."}
    assert body["input"] == [HELLO, french, HELLO]
    assert "instructions" not in body


@pytest.mark.parametrize(
    ("data", "item"),
    [
        (
            PNG,
            {
                "type": "input_image",
                "image_url": data_uri(PNG, "image/png"),
                "detail": "auto",
            },
        ),
        (
            PDF,
            {
                "type": "input_file",
                "filename": "document1.pdf",
                "file_data": data_uri(PDF, "application/pdf"),
            },
        ),
        (
            WAV,
            {
                "type": "input_audio",
                "input_audio": {
                    "data": data_uri(WAV, "").partition(",")[2],
                    "format": "wav",
                },
            },
        ),
    ],
    ids=["picture", "document", "sound"],
)
def test_a_medium_has_its_item(data: bytes, item: dict[str, Any]) -> None:
    [row] = sent(user("see", medium(data), "and say"))["input"]
    assert row["content"] == [
        {"type": "input_text", "text": "see"},
        item,
        {"type": "input_text", "text": "and say"},
    ]


def test_a_picture_has_the_detail_that_is_given() -> None:
    [row] = sent(user(medium(PNG)), image_detail="low")["input"]
    assert row["content"][0]["detail"] == "low"


def test_a_text_file_is_a_text() -> None:
    [row] = sent(user(medium(b"tree,height\noak,30\n")))["input"]
    assert [item["type"] for item in row["content"]] == ["input_text"]


def test_a_video_is_not_sent() -> None:
    with pytest.raises(CallError, match="video is not a declared input"):
        sent(user(medium(MP4)))


def test_the_media_of_another_models_answer_move_to_the_next_user_message() -> None:
    body = sent(user("hello"), message("assistant", "Here:", medium(PNG)), user("Why?"))
    first, second, third = body["input"]
    assert first == HELLO
    assert second == {"role": "assistant", "content": "Here:"}
    kinds = [item["type"] for item in third["content"]]
    assert kinds == ["input_text", "input_image", "input_text"]


# --- earlier answers ------------------------------------------------------------------

ITEMS = [thought("Hm."), said("Grün: ", phase="commentary"), drawn(PNG)]
SPELLED = json.dumps(response(*ITEMS), indent=1).replace("/", r"\/").encode()
"""A reply as no encoder of ours writes it."""


def test_an_earlier_answer_is_given_back_byte_for_byte() -> None:
    later = (user("hello"), answer(SPELLED), user("hello"))
    body = endpoint().encode(Request(later)).body
    for item in ITEMS:
        spelled = json.dumps(item, indent=1).replace("\n", "\n  ").replace("/", r"\/")
        assert spelled.encode() in body
    assert json.loads(body)["input"] == [HELLO, *ITEMS, HELLO]


def test_several_earlier_answers_keep_their_places() -> None:
    first, second = (json.dumps(response(item)).encode() for item in ITEMS[1:])
    later = (user("hello"), answer(first), user("hello"), answer(second), user("hello"))
    assert sent(*later)["input"] == [HELLO, ITEMS[1], HELLO, ITEMS[2], HELLO]


def test_the_turn_of_another_wire_is_not_read() -> None:
    foreign = Turn("another wire", Media.from_bytes(b'[{"type": "foreign"}]'))
    theirs = Message("assistant", Interleaved.from_text("oak"), foreign)
    row = {"role": "assistant", "content": "oak"}
    assert sent(user("hello"), theirs, user("hello"))["input"] == [HELLO, row, HELLO]


def test_the_answer_of_another_model_is_given_as_words() -> None:
    theirs = answer(json.dumps(response(said("oak"))).encode(), model="other")
    [_, row, _] = sent(user("hello"), theirs, user("hello"))["input"]
    assert row == {"role": "assistant", "content": "oak"}


def test_by_its_id_an_earlier_answer_is_named_and_not_sent() -> None:
    later = (
        message("system", "Be brief."),
        user("first"),
        answer(SPELLED, state="previous"),
        user("hello"),
    )
    body = sent(*later, state="previous")
    assert body["previous_response_id"] == "resp_1"
    assert body["input"] == [HELLO]
    assert body["instructions"] == "Be brief."


def test_by_ids_a_first_request_names_none() -> None:
    body = sent(user("hello"), state="previous")
    assert body["store"] is True
    assert "previous_response_id" not in body
    assert "include" not in body
