import json
from typing import Any

import pytest

from mmeval.media import Media
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import ReplySchema, Request, Response, Usage
from tests.support.gemini import shape
from tests.support.openai_calls import PNG, WAV, data_uri, medium, request

IMAGE = {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}
SOUND = {
    "id": "a",
    "data": data_uri(WAV, "").partition(",")[2],
    "transcript": "spoken words",
}


def endpoint(**arguments: Any) -> ChatEndpoint:
    return ChatEndpoint(
        OpenAIBackend(model="m", base_url="http://localhost/v1", **arguments)._settings
    )


def sent(asked: Request, **arguments: Any) -> Any:
    return json.loads(endpoint(**arguments).encode(asked).body)


def received(*choices: Any, asked: Request | None = None, **fields: Any) -> Response:
    body = json.dumps({"choices": list(choices), **fields}).encode()
    return endpoint().decode(HttpReply(200, {}, body, 0.5), asked or request("q"))


def test_the_fields_of_a_request_have_the_names_of_the_interface() -> None:
    body = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "q"}]}
    assert sent(request("q", seed=7)) == body
    asked = request(
        "q", temperature=0.5, top_p=0.9, top_k=40, max_gen_toks=64, until=["\n", "END"]
    )
    fields = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "stop": ["\n", "END"]}
    assert sent(asked) == {**body, **fields, "max_tokens": 64}
    del body["seed"]
    changed = sent(asked, max_tokens_field="max_completion_tokens", send_seed=False)
    assert changed == {**body, **fields, "max_completion_tokens": 64}
    chat = endpoint(outputs="text+image")
    first = request("q", seed=1, temperature=1.0)
    second = Request(first.messages, first.params, ("image",), 2)
    bodies = [
        json.loads(chat.encode(asked).body)
        for asked in (first, second, first, request("q", temperature=0.5))
    ]
    found = [
        (body["seed"], "modalities" in body, body["temperature"]) for body in bodies
    ]
    assert found == [(1, False, 1.0), (2, True, 1.0), (1, False, 1.0), (7, False, 0.5)]
    spoken = sent(
        request("q", wants=("text", "audio"), options={"audio.voice": "verse"}),
        outputs="text+audio",
    )
    assert spoken["modalities"] == ["text", "audio"]
    assert spoken["audio"] == {"voice": "verse", "format": "wav"}


def test_pictures_have_their_detail_and_replies_are_json_on_request() -> None:
    asked = request("q", medium(PNG), medium(WAV))
    with_detail = sent(asked, image_detail="low", response_format="json_object")
    _, image, sound = with_detail["messages"][0]["content"]
    assert image["image_url"]["detail"] == "low"
    assert "detail" not in sound["input_audio"]
    assert with_detail["response_format"] == {"type": "json_object"}
    plain = sent(asked)
    assert "response_format" not in plain
    assert plain["messages"][0]["content"][1]["image_url"].keys() == {"url"}


OPTIONS = {"image.detail": "low", "text.response_format": "json_object"}


def test_options_set_the_detail_of_pictures_and_the_format_of_replies() -> None:
    body = sent(request("q", medium(PNG), options=OPTIONS))
    _, image = body["messages"][0]["content"]
    assert image["image_url"]["detail"] == "low"
    assert body["response_format"] == {"type": "json_object"}


def test_an_argument_overrides_the_option() -> None:
    body = sent(request("q", medium(PNG), options=OPTIONS), image_detail="high")
    _, image = body["messages"][0]["content"]
    assert image["image_url"]["detail"] == "high"


@pytest.mark.parametrize("name", OPTIONS)
def test_an_unknown_value_of_an_option_is_refused(name: str) -> None:
    with pytest.raises(CallError, match=name):
        sent(request("q", medium(PNG), options={name: "x"}))


def test_an_answer_carries_its_text_usage_latency_model_and_reason() -> None:
    choice = {
        "message": {"role": "assistant", "content": "hello"},
        "finish_reason": "stop",
    }
    counted = {"prompt_tokens": 3, "completion_tokens": 5}
    response = received(choice, model="m-1", usage=counted, system_fingerprint="fp")
    assert response.text == "hello"
    assert response.usage == Usage(3, 5)
    assert response.latency == 0.5
    assert response.served == "m-1"
    assert response.finish_reason == "stop"
    assert response.fingerprint == "fp"
    reasons = ["stop", "length", "max_tokens", "content_filter", "tool_calls", None]
    found = [
        received({"message": {"content": "x"}, "finish_reason": reason}).finish_reason
        for reason in reasons
    ]
    assert found == ["stop", "length", "length", "refused", "stop", "stop"]


def test_the_words_of_a_refusal_are_a_refused_answer() -> None:
    message = {"content": None, "refusal": "I cannot help with that."}
    response = received({"message": message, "finish_reason": "stop"})
    assert response.text == "I cannot help with that."
    assert response.finish_reason == "refused"


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"content": "x", "audio": None, "refusal": None, "images": None}, ["x"]),
        ({"content": None}, []),
        ({"content": "x", "images": [IMAGE, IMAGE]}, ["x", "image", "image"]),
        ({"content": ["a", "b"]}, ["ab"]),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, ["no"]),
        ({"content": "", "audio": SOUND}, ["spoken words", "audio"]),
        ({"content": "words", "audio": SOUND}, ["words", "audio"]),
        ({"content": "x", "reasoning_content": "hm"}, ["hm", "x"]),
        ({"content": "x", "reasoning": "hm"}, ["hm", "x"]),
        (
            {"content": [{"type": "thinking", "thinking": [text("hm")]}, text("x")]},
            ["hm", "x"],
        ),
        ({"content": [{"type": "reasoning", "text": "hm"}, text("x")]}, ["hm", "x"]),
    ],
)
def test_an_answer_is_read_in_every_form(
    given: dict[str, Any], parts: list[str]
) -> None:
    assert shape(received({"message": given, "finish_reason": "stop"})) == parts


def test_reasoning_is_hidden_media_arrive_unchanged_and_a_sound_may_be_a_choice_of_its_own() -> (
    None
):
    output = received(
        {"message": {"content": "x", "reasoning_content": "hm", "images": [IMAGE]}}
    ).output
    assert output is not None
    assert output.parts[0].kind == "reasoning"
    assert output.parts[0].raw == ""
    assert output.parts[1].text == "x"
    assert output.media("image") == (Media.from_bytes(PNG),)
    silent = {"message": {"content": None, "audio": SOUND}}
    assert shape(received({"message": {"content": "a"}}, silent, None)) == [
        "a",
        "audio",
    ]


UNREADABLE: list[Any] = [
    {"content": 5},
    {"content": [5]},
    {"content": [{"type": "widget"}]},
    {"content": None, "images": ["damaged!"]},
]


@pytest.mark.parametrize(
    "choices",
    [[], [None], *([{"message": message}] for message in UNREADABLE)],
    ids=str,
)
def test_an_answer_that_cannot_be_read_is_a_bad_reply(choices: list[Any]) -> None:
    with pytest.raises(CallError) as caught:
        received(*choices)
    assert caught.value.kind == "bad_reply"


@pytest.mark.parametrize(
    "choice",
    [{}, {"message": None}, {"message": {"role": "assistant"}}],
    ids=str,
)
def test_a_choice_without_a_message_is_an_answer_of_no_part(
    choice: dict[str, Any],
) -> None:
    response = received({**choice, "finish_reason": "length"})
    assert shape(response) == []
    assert response.finish_reason == "length"


def test_a_text_in_place_of_a_message_is_read() -> None:
    assert shape(received({"text": "oak", "finish_reason": "stop"})) == ["oak"]


def test_what_cannot_be_read_beside_a_text_is_left_out_with_a_warning() -> None:
    response = received({"message": {"content": "x", "images": "y"}})
    assert shape(response) == ["x"]
    assert response.warnings == (
        "left out of the answer: image that cannot be decoded (1 bytes)",
    )


def test_media_that_chat_cannot_carry_are_a_warning_and_an_error_inside_a_choice_is_one_of_the_server() -> (
    None
):
    with pytest.raises(CallError, match="upstream died") as caught:
        received(
            {
                "message": {"content": ""},
                "error": {"code": 502, "message": "upstream died"},
            }
        )
    assert caught.value.kind == "server"
    choice, size = {"message": {"content": "x"}}, {"image.size": "1x1"}
    assert (
        "image.size"
        in received(
            choice, asked=request("q", wants=("text", "image"), options=size)
        ).warnings[0]
    )
    assert received(choice, asked=request("q", options=size)).warnings == ()


def test_media_are_asked_for_in_the_order_of_the_task() -> None:
    asked = request("q", wants=("audio", "image"))
    body = sent(asked, outputs="text+image+audio")
    assert body["modalities"] == ["text", "audio", "image"]


SCHEMA = {"type": "object", "properties": {"met": {"enum": ["yes", "no"]}}}


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        (
            "json_schema",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
                }
            },
        ),
        ("guided_json", {"guided_json": SCHEMA}),
        ("format", {"format": SCHEMA}),
        ("json_object", {"response_format": {"type": "json_object"}}),
    ],
)
def test_a_schema_is_sent_in_the_field_of_its_server(
    form: str, fields: dict[str, Any]
) -> None:
    body = sent(request("q").with_schema(ReplySchema(SCHEMA, form)))

    plain = sent(request("q"))
    assert body == {**plain, **fields}


def test_a_format_of_the_user_is_sent_in_place_of_a_schema() -> None:
    asked = request("q").with_schema(ReplySchema(SCHEMA, "json_schema"))

    body = sent(asked, response_format="json_object")

    assert body["response_format"] == {"type": "json_object"}


def test_a_request_without_a_schema_follows_one_with_it() -> None:
    chat = endpoint()
    plain = request("q")
    chat.encode(plain.with_schema(ReplySchema(SCHEMA, "format")))

    body = json.loads(chat.encode(plain).body)

    assert "format" not in body


def test_a_schema_is_not_part_of_the_digest() -> None:
    plain = request("q")

    assert plain.with_schema(ReplySchema(SCHEMA, "format")).digest == plain.digest


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({}, 4),
        ({"response_format": "json_object"}, 0),
        ({"extra_body": {"guided_json": SCHEMA}}, 0),
        ({"endpoint": "images"}, 0),
    ],
    ids=str,
)
def test_chats_without_a_format_of_the_user_can_be_asked_for_json(
    arguments: dict[str, Any], count: int
) -> None:
    backend = OpenAIBackend(model="m", base_url="http://localhost/v1", **arguments)

    assert len(backend.capabilities.reply_formats) == count
    assert not backend.capabilities.is_certain
