from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.model_backends.openai.failures import CallError
from mmeval.model_backends.openai.messages import encode_messages
from mmeval.records.sample import Message, message, user
from tests.support.openai_calls import FLAC, GLB, MP3, MP4, PDF, PNG, WAV, data_uri, medium

INPUTS: tuple[PartKind, ...] = ("text", "code", "image", "audio", "document", "video")


def encoded(*messages: Message, inputs: tuple[PartKind, ...] = INPUTS) -> Any:
    return json.loads(encode_messages(messages, inputs))


def test_text_alone_is_one_string() -> None:
    assert encoded(message("system", "be brief"), user("a", "b")) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "ab"},
    ]


@pytest.mark.parametrize("text", ["", 'say "hi"\n\\', "naïve 日本語 🎈", "lone \ud800 surrogate", "\x00"])
def test_every_text_arrives_as_it_is(text: str) -> None:
    assert encoded(user(text)) == [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("data", "item"),
    [
        pytest.param(PNG, {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}, id="image"),
        pytest.param(MP4, {"type": "video_url", "video_url": {"url": data_uri(MP4, "video/mp4")}}, id="video"),
        pytest.param(
            WAV,
            {"type": "input_audio", "input_audio": {"data": base64.b64encode(WAV).decode(), "format": "wav"}},
            id="wav",
        ),
        pytest.param(
            MP3,
            {"type": "input_audio", "input_audio": {"data": base64.b64encode(MP3).decode(), "format": "mp3"}},
            id="mp3",
        ),
        pytest.param(
            PDF,
            {"type": "file", "file": {"filename": "document1.pdf", "file_data": data_uri(PDF, "application/pdf")}},
            id="document",
        ),
    ],
)
def test_a_medium_goes_as_its_own_bytes_under_a_neutral_name(data: bytes, item: dict[str, Any]) -> None:
    [row] = encoded(user("look:", medium(data)))
    assert row["content"] == [{"type": "text", "text": "look:"}, item]


def document(data: bytes, name: str = "") -> Part:
    return media_part(Media.from_bytes(data, name), "document")


def test_a_document_that_is_a_picture_goes_as_a_picture() -> None:
    [row] = encoded(user(document(PNG)))

    assert row["content"] == [{"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}]


def test_a_document_that_is_a_picture_is_a_file_for_a_server_without_pictures() -> None:
    [row] = encoded(user(document(PNG)), inputs=("text", "document"))

    assert row["content"][0]["file"]["filename"] == "document1.png"


def test_a_document_of_words_goes_as_its_words_under_a_neutral_name() -> None:
    [row] = encoded(user("Sum up", document(b"salt,2\n", "answer.csv"), document(b"words", "b.txt")))

    assert [item["text"] for item in row["content"]] == [
        "Sum up",
        "\n[document1.csv]\nsalt,2\n\n[end of document1.csv]\n",
        "\n[document2.txt]\nwords\n[end of document2.txt]\n",
    ]


def test_a_document_of_words_that_cannot_be_read_is_a_fault_of_the_data() -> None:
    with pytest.raises(CallError, match="bad_request"):
        encoded(user(document(b"\xff\xfea", "a.txt")))


def test_a_drawing_goes_as_the_picture_that_it_shows() -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="4"><!-- a hint --></svg>'
    [row] = encoded(user(medium(drawing)))
    head, _, data = row["content"][0]["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert Media.from_bytes(base64.b64decode(data)).mime == "image/png"


def test_a_drawing_that_cannot_be_drawn_is_a_fault_of_the_data() -> None:
    with pytest.raises(CallError, match=r"bad_request.*foreignObject"):
        encoded(user(medium(b'<svg xmlns="http://www.w3.org/2000/svg"><foreignObject/></svg>')))


def test_the_order_of_parts_is_kept_and_neighbouring_texts_are_joined() -> None:
    [row] = encoded(user("a", "b", medium(PNG), "c", medium(WAV), medium(PNG)))
    kinds = [item.get("text", item["type"]) for item in row["content"]]
    assert kinds == ["ab", "image_url", "c", "input_audio", "image_url"]


def test_files_are_numbered_through_the_whole_request() -> None:
    rows = encoded(user(medium(PDF)), message("assistant", "read"), user(medium(PDF + b"2")))
    names = [row["content"][0]["file"]["filename"] for row in rows if row["role"] == "user"]
    assert names == ["document1.pdf", "document2.pdf"]


def test_code_and_dangling_placeholders_go_as_text_and_reasoning_does_not_go() -> None:
    code = Part("code", text="print(1)", raw="<<code1>>", label="code1")
    missing = Part("image", raw="<<image1>>", label="image1")
    thought = Part("reasoning", text="hm", raw="<think>hm</think>")
    assert encoded(user("run ", code, " see ", missing, thought)) == [
        {"role": "user", "content": "run print(1) see <<image1>>"}
    ]


def test_media_of_an_earlier_answer_move_to_the_front_of_the_next_user_message() -> None:
    answer = Interleaved.from_text("here <<image1>> and a sound", {"image1": medium(PNG), "audio1": medium(WAV)})
    rows = encoded(user("draw"), Message("assistant", answer), user("again"), user("and text"))
    assert rows[1] == {"role": "assistant", "content": "here <<image1>> and a sound"}
    assert [item.get("text", item["type"]) for item in rows[2]["content"]] == [
        "[image1]",
        "image_url",
        "[audio1]",
        "input_audio",
        "again",
    ]
    assert rows[3] == {"role": "user", "content": "and text"}


def test_media_of_a_last_answer_get_a_user_message_of_their_own() -> None:
    rows = encoded(user("draw"), message("assistant", medium(PNG), medium(PNG)))
    assert rows[1] == {"role": "assistant", "content": "[image1][image2]"}
    assert [item.get("text") for item in rows[2]["content"]] == ["[image1]", None, "[image2]", None]
    assert rows[2]["role"] == "user"


@pytest.mark.parametrize(
    ("part", "inputs", "named"),
    [
        pytest.param(media_part(medium(FLAC)), INPUTS, "audio/flac", id="audio format"),
        pytest.param(media_part(medium(GLB)), INPUTS, "3d", id="mesh"),
        pytest.param(media_part(medium(MP4)), ("text", "image"), "video", id="video not declared"),
    ],
)
def test_what_has_no_field_is_unsupported_by_name(part: Part, inputs: tuple[PartKind, ...], named: str) -> None:
    with pytest.raises(CallError, match=named) as caught:
        encode_messages([user(part)], inputs)
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize("kind", ["image", "audio", "video"])
def test_a_medium_that_is_not_what_it_is_called_is_a_fault_of_the_data(kind: PartKind) -> None:
    with pytest.raises(CallError, match=f"is no {kind}.*octet-stream") as caught:
        encode_messages([user(media_part(medium(b"\x00garbage"), kind))], INPUTS)
    assert caught.value.kind == "bad_request"


def test_a_hostile_mime_type_of_a_record_cannot_break_the_json() -> None:
    hostile = Media(data=PNG, mime='image/png","x":"')
    [row] = encoded(user(text_part("x"), hostile))
    assert list(row["content"][1]["image_url"]) == ["url"]
