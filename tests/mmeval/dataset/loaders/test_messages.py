import base64
from typing import Any

import pytest

from mmeval.dataset.loaders.messages import Conversation, is_messages, read_messages
from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.media.written import ContentReader
from tests.support.tiny_media import picture, wav

URI = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
SOUND = base64.b64encode(wav()).decode()
ASK: dict[str, Any] = {"role": "user", "content": "Which tree?"}


def no_file(path: str, where: str) -> Media:
    raise UsageError(f"{where} {path!r} is missing")


def kinds(content: Any) -> list[str]:
    return [part.text or part.kind for part in content.parts]


def read(*messages: dict[str, str | list[Any]], **media: Media) -> Conversation:
    return read_messages(messages, ContentReader(no_file, media), "messages")


def asked(content: str | list[Any], **media: Media) -> Interleaved:
    return read({"role": "user", "content": content}, **media).asked[0].content


def test_the_assistant_s_last_message_answers_the_others() -> None:
    chat = read(ASK, {"role": "assistant", "content": "An oak."})
    assert [message.role for message in chat.asked] == ["user"]
    assert chat.answer is not None
    assert chat.answer.text == "An oak."


def test_messages_that_end_with_a_question_have_no_answer() -> None:
    assert read(ASK).answer is None


def test_an_answer_alone_is_a_fault() -> None:
    with pytest.raises(UsageError, match="no question"):
        read({"role": "assistant", "content": "An oak."})


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": URI}},
        {"type": "image_url", "image_url": URI},
        {"type": "input_image", "image_url": URI},
        {"type": "image", "image": picture()},
        {"type": "image", "image": {"bytes": picture(), "path": None}},
        {"type": "image", "source": {"type": "base64", "data": URI}},
    ],
    ids=["OpenAI", "an address", "responses", "bytes", "a cell", "a source"],
)
def test_pictures_in_parts_are_read_as_chat_data_have_them(part: Any) -> None:
    content = asked([part, {"type": "text", "text": "Which?"}])
    assert kinds(content) == ["image", "Which?"]


def test_a_sound_in_a_part_is_read() -> None:
    part = {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}
    assert kinds(asked([part])) == ["audio"]


@pytest.mark.parametrize(
    "content",
    [
        "<image> or <image>?",
        [{"type": "image"}, {"type": "text", "text": " or "}, {"type": "image"}],
    ],
    ids=["tags", "parts"],
)
def test_media_without_a_number_are_the_next_of_the_row(
    content: str | list[Any],
) -> None:
    first = Media.from_bytes(picture())
    second = Media.from_bytes(picture(size=(9, 9)))
    prompt = asked(content, image1=first, image2=second)
    assert prompt.media("image") == (first, second)


def test_other_names_of_roles_are_known() -> None:
    chat = read(
        {"from": "human", "value": "Which?"}, {"from": "gpt", "value": "An oak."}
    )
    assert chat.asked[0].role == "user"
    assert chat.answer is not None


def test_a_web_address_is_not_fetched() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    with pytest.raises(UsageError, match=r"messages\[0\]"):
        asked([part])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([ASK], True),
        ([], False),
        ([{"role": "user"}], False),
        ("user: hello", False),
        ([ASK, "x"], False),
    ],
)
def test_a_list_of_roles_with_contents_is_messages(value: Any, expected: bool) -> None:
    assert is_messages(value) is expected
