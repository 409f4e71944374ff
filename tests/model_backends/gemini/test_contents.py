"""Messages as JSON: roles, media of every kind, documents as words."""

import json
from typing import Any

import pytest

from mmeval.media import Media, media_part
from mmeval.model_backends.gemini import GeminiBackend
from mmeval.model_backends.gemini.contents import (
    GENERATE,
    GeminiInput,
    conversation,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.records import Message, message, user
from tests.support.tiny_media import picture, sound

PDF = b"%PDF-1.7\npage"


def conversed(*messages: Message, **arguments: Any) -> GeminiInput:
    backend = GeminiBackend(
        **{"model": "m", "base_url": "http://localhost", **arguments}
    )
    return conversation(messages, backend._settings, GENERATE)


def rows(*messages: Message, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(conversed(*messages, **arguments).messages)
    return found


def test_the_words_of_the_system_stand_apart() -> None:
    said = conversed(message("system", "A"), message("system", "B"), user("q"))
    assert said.system == "A\n\nB"
    assert len(json.loads(said.messages)) == 1


def test_media_of_the_system_go_with_the_next_message() -> None:
    system = message("system", "See:", Media.from_bytes(picture()))
    [row] = rows(system, user("q"))
    assert ["inlineData" in part for part in row["parts"]] == [True, False]


def test_a_message_of_nothing_has_an_empty_text() -> None:
    assert rows(user("")) == [{"role": "user", "parts": [{"text": ""}]}]


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (sound("flac"), "audio/flac"),
        (PDF, "application/pdf"),
        (b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  ", "video/mov"),
    ],
    ids=["sound", "document", "video"],
)
def test_a_medium_has_the_type_that_the_interface_knows(data: bytes, mime: str) -> None:
    [row] = rows(user(Media.from_bytes(data)))
    assert row["parts"][0]["inlineData"]["mimeType"] == mime


def test_a_document_of_words_is_sent_as_words_without_its_name() -> None:
    table = Media.from_bytes(b"a,b\n1,2\n", "wrong_answer.csv")
    [row] = rows(user("Read: ", media_part(table, "document")))
    [part] = row["parts"]
    assert "a,b\n1,2" in part["text"]
    assert "wrong_answer" not in part["text"]


def test_the_picture_of_a_page_is_sent_as_a_picture() -> None:
    page = media_part(Media.from_bytes(picture()), "document")
    [row] = rows(user(page))
    assert row["parts"][0]["inlineData"]["mimeType"] == "image/png"


def test_a_kind_that_is_not_taken_is_unsupported() -> None:
    with pytest.raises(CallError, match="inputs"):
        rows(user(Media.from_bytes(picture())), inputs="text")


def test_a_damaged_medium_is_a_fault_of_the_data() -> None:
    damaged = media_part(Media.from_bytes(b"no picture"), "image")
    with pytest.raises(CallError, match="the image "):
        rows(user(damaged))
