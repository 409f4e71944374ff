import base64
import json
from typing import Any

import pytest

from mmeval.media import (
    Interleaved,
    Media,
    Part,
    PartKind,
    media_part,
    text_item,
    text_part,
)
from mmeval.model_backends.openai.messages import encode_messages
from mmeval.model_backends.wire.failures import CallError
from mmeval.records.sample import Message, message, user
from tests.support.openai_calls import (
    FLAC,
    GLB,
    MP3,
    MP4,
    PDF,
    PNG,
    WAV,
    data_uri,
    medium,
)

INPUTS: tuple[PartKind, ...] = ("text", "code", "image", "audio", "document", "video")
PICTURE = {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}


def encoded(*messages: Message, inputs: tuple[PartKind, ...] = INPUTS) -> Any:
    return json.loads(encode_messages(messages, inputs))


def test_texts_and_media_keep_their_order_and_what_is_hidden_does_not_go() -> None:
    assert encoded(message("system", "be brief"), user("a", "b")) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "ab"},
    ]
    for text in ("", 'say "hi"\n\\', "lone \ud800 surrogate", "\x00"):
        assert encoded(user(text)) == [{"role": "user", "content": text}]
    [row] = encoded(user("a", "b", medium(PNG), "c", medium(WAV), medium(PNG)))
    kinds = [item.get("text", item["type"]) for item in row["content"]]
    assert kinds == ["ab", "image_url", "c", "input_audio", "image_url"]
    rows = encoded(
        user(medium(PDF)), message("assistant", "read"), user(medium(PDF + b"2"))
    )
    names = [
        row["content"][0]["file"]["filename"] for row in rows if row["role"] == "user"
    ]
    assert names == ["document1.pdf", "document2.pdf"]
    code = Part("code", text="print(1)", raw="<<code1>>", label="code1")
    missing = Part("image", raw="<<image1>>", label="image1")
    thought = Part("reasoning", text="hm", raw="<think>hm</think>")
    row = {"role": "user", "content": "run print(1) see <<image1>>"}
    assert encoded(user("run ", code, " see ", missing, thought)) == [row]


def sound(data: bytes, form: str) -> dict[str, Any]:
    return {
        "type": "input_audio",
        "input_audio": {"data": base64.b64encode(data).decode(), "format": form},
    }


def file(name: str, data: bytes, mime: str) -> dict[str, Any]:
    return {
        "type": "file",
        "file": {"filename": name, "file_data": data_uri(data, mime)},
    }


ITEMS = {
    "image": (PNG, PICTURE),
    "video": (
        MP4,
        {"type": "video_url", "video_url": {"url": data_uri(MP4, "video/mp4")}},
    ),
    "wav": (WAV, sound(WAV, "wav")),
    "mp3": (MP3, sound(MP3, "mp3")),
    "document": (PDF, file("document1.pdf", PDF, "application/pdf")),
}


@pytest.mark.parametrize(
    ("data", "item"),
    ITEMS.values(),
    ids=ITEMS,
)
def test_a_medium_goes_as_its_own_bytes_under_a_neutral_name(
    data: bytes, item: dict[str, Any]
) -> None:
    [row] = encoded(user("look:", medium(data)))
    assert row["content"] == [{"type": "text", "text": "look:"}, item]


def document(data: bytes, name: str = "") -> Part:
    return media_part(Media.from_bytes(data, name), "document")


def test_a_document_or_a_drawing_goes_as_its_words_or_its_picture() -> None:
    assert encoded(user(document(PNG)))[0]["content"] == [PICTURE]
    [row] = encoded(user(document(PNG)), inputs=("text", "document"))
    assert row["content"] == [file("document1.png", PNG, "image/png")]
    [row] = encoded(
        user("Sum up", document(b"salt,2\n", "answer.csv"), document(b"words", "b.txt"))
    )
    first = "\n[document1.csv]\nsalt,2\n\n[end of document1.csv]\n"
    second = "\n[document2.txt]\nwords\n[end of document2.txt]\n"
    assert [item["text"] for item in row["content"]] == ["Sum up", first, second]
    drawing = (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="4"><!-- a hint '
        b"--></svg>"
    )
    [row] = encoded(user(medium(drawing)))
    head, _, data = row["content"][0]["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert Media.from_bytes(base64.b64decode(data)).mime == "image/png"
    hostile = Media(data=b"frames", mime='video/mp4","x":"')
    [row] = encoded(user(text_part("x"), hostile))
    assert list(row["content"][1]["video_url"]) == ["url"]


def test_media_of_an_answer_move_to_the_next_user_message_or_one_of_their_own() -> None:
    answer = Interleaved.from_text(
        "here <<image1>> and a sound", {"image1": medium(PNG), "audio1": medium(WAV)}
    )
    rows = encoded(
        user("draw"), Message("assistant", answer), user("again"), user("and text")
    )
    assert rows[1] == {"role": "assistant", "content": "here <<image1>> and a sound"}
    moved = [item.get("text", item["type"]) for item in rows[2]["content"]]
    assert moved == ["[image1]", "image_url", "[audio1]", "input_audio", "again"]
    assert rows[3] == {"role": "user", "content": "and text"}
    rows = encoded(user("draw"), message("assistant", medium(PNG), medium(PNG)))
    assert rows[1] == {"role": "assistant", "content": "[image1][image2]"}
    assert [item.get("text") for item in rows[2]["content"]] == [
        "[image1]",
        None,
        "[image2]",
        None,
    ]
    assert rows[2]["role"] == "user"


GARBAGE = medium(b"\x00garbage")
FOREIGN = b'<svg xmlns="http://www.w3.org/2000/svg"><foreignObject/></svg>'


UNSENDABLE = {
    "damaged sound of another format": (
        media_part(medium(FLAC)),
        INPUTS,
        "bad_request",
        "cannot be decoded",
    ),
    "mesh": (media_part(medium(GLB)), INPUTS, "unsupported", "3d"),
    "video not declared": (
        media_part(medium(MP4)),
        ("text", "image"),
        "unsupported",
        "video",
    ),
    "no image": (media_part(GARBAGE, "image"), INPUTS, "bad_request", "octet-stream"),
    "unreadable words": (
        document(b"\xff\xfea", "a.txt"),
        INPUTS,
        "bad_request",
        "a.txt",
    ),
    "unreadable drawing": (
        media_part(medium(FOREIGN)),
        INPUTS,
        "bad_request",
        "foreignObject",
    ),
}


@pytest.mark.parametrize(
    ("part", "inputs", "kind", "named"),
    UNSENDABLE.values(),
    ids=UNSENDABLE,
)
def test_media_that_cannot_be_sent(
    part: Part, inputs: tuple[PartKind, ...], kind: str, named: str
) -> None:
    with pytest.raises(CallError, match=named) as caught:
        encode_messages([user(part)], inputs)
    assert caught.value.kind == kind


def test_a_text_item_is_sent_by_itself() -> None:
    [row] = encoded(user("a", "b", text_item("c"), "d"))
    texts = [item["text"] for item in row["content"]]
    assert texts == ["ab", "c", "d"]


def test_a_message_of_one_text_item_is_a_list() -> None:
    [row] = encoded(user(text_item("a")))
    assert row["content"] == [{"type": "text", "text": "a"}]
