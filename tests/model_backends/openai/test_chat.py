from __future__ import annotations

import json
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import PartKind
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.openai.failures import CallError
from mmeval.model_backends.openai.transport import Received
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import message, user
from tests.support.openai_calls import PDF, PNG, WAV, data_uri, drained, medium, request

IMAGE = {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}
SOUND = {"id": "a", "data": data_uri(WAV, "").partition(",")[2], "transcript": "spoken words"}


def endpoint(**arguments: Any) -> ChatEndpoint:
    backend = OpenAIBackend(model="m", base_url="http://localhost/v1", **arguments)
    return ChatEndpoint(backend._settings)


def sent(asked: Request, **arguments: Any) -> Any:
    return json.loads(endpoint(**arguments).encode(asked).body)


def received(*choices: Any, **fields: Any) -> Response:
    body = json.dumps({"choices": list(choices), **fields}).encode()
    return endpoint().decode(Received(200, {}, body, 0.5), request("q"))


def answered(**said: Any) -> Response:
    return received({"message": said, "finish_reason": "stop"})


def shape(response: Response) -> list[str]:
    assert response.output is not None
    return [part.text if part.text is not None else part.kind for part in response.output.parts]


def test_only_what_was_asked_for_is_sent() -> None:
    body = sent(request("q", seed=7))
    assert body == {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "q"}]}


def test_generation_parameters_are_sent_under_the_names_of_the_interface() -> None:
    asked = request("q", temperature=0.5, top_p=0.9, top_k=40, max_gen_toks=64, until=["\n", "END"])
    expected = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "max_tokens": 64, "stop": ["\n", "END"], "seed": 7}
    assert expected.items() <= sent(asked).items()


def test_the_field_for_the_limit_of_tokens_can_be_chosen() -> None:
    body = sent(request("q", max_tokens=64), max_tokens_field="max_completion_tokens")
    assert body["max_completion_tokens"] == 64
    assert "max_tokens" not in body


def test_the_seed_can_be_left_out() -> None:
    assert "seed" not in sent(request("q"), send_seed=False)


def test_requests_that_share_parameters_still_differ_in_seed_and_wants() -> None:
    chat = endpoint(outputs="text+image")
    first = request("q", seed=1, temperature=1.0)
    second = Request(first.messages, first.params, ("image",), 2)
    bodies = [json.loads(chat.encode(asked).body) for asked in (first, second, first)]
    assert [body["seed"] for body in bodies] == [1, 2, 1]
    assert ["modalities" in body for body in bodies] == [False, True, False]
    assert [body["temperature"] for body in bodies] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("wants", "outputs", "modalities"),
    [
        pytest.param(("text", "image"), "text+image", ["text", "image"], id="text and picture"),
        pytest.param(("image",), "text+image", ["text", "image"], id="a picture from one who speaks"),
        pytest.param(("image",), "image", ["image"], id="a picture from one who only draws"),
        pytest.param(("text", "code"), "text+image", None, id="words only"),
    ],
)
def test_modalities_are_sent_when_media_are_wanted(
    wants: tuple[PartKind, ...], outputs: str, modalities: list[str] | None
) -> None:
    assert sent(request("q", wants=wants), outputs=outputs).get("modalities") == modalities


def test_a_wanted_sound_has_voice_and_format() -> None:
    body = sent(request("q", wants=("text", "audio"), options={"audio.voice": "verse"}), outputs="text+audio")
    assert body["modalities"] == ["text", "audio"]
    assert body["audio"] == {"voice": "verse", "format": "wav"}


def test_requests_have_the_shape_that_the_official_client_declares() -> None:
    pytest.importorskip("openai")
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from pydantic import TypeAdapter

    body = sent(
        request(
            message("system", "s"),
            user("a", medium(PNG), medium(WAV), medium(PDF)),
            message("assistant", "b", medium(PNG)),
            user("c"),
            wants=("text", "audio"),
            temperature=1.0,
            top_p=0.5,
            max_tokens=9,
            until="x",
        ),
        outputs="text+audio",
    )
    assert drained(TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(body)) == body


def test_an_answer_carries_its_text_usage_latency_and_model() -> None:
    choice = {"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    response = received(choice, model="m-1", usage={"prompt_tokens": 3, "completion_tokens": 5})
    assert response.text == "hello"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 5)
    assert (response.latency, response.served, response.finish_reason) == (0.5, "m-1", "stop")


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        pytest.param({"content": "x", "audio": None, "refusal": None, "images": None}, ["x"], id="nulls"),
        pytest.param({"content": ""}, [], id="empty"),
        pytest.param({"content": None}, [], id="null"),
        pytest.param({"content": "x", "images": [IMAGE, IMAGE]}, ["x", "image", "image"], id="images beside"),
        pytest.param({"content": None, "images": [IMAGE]}, ["image"], id="images alone"),
        pytest.param({"content": "a <image1> b", "images": [IMAGE]}, ["a ", "image", " b"], id="placeholder"),
        pytest.param(
            {"content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]},
            ["a", "image", "b"],
            id="parts in order",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "a <image1> b"}, IMAGE]},
            ["a ", "image", " b"],
            id="parts, placeholder",
        ),
        pytest.param({"content": ["a", "b"]}, ["ab"], id="parts as strings"),
        pytest.param({"content": "", "audio": SOUND}, ["spoken words", "audio"], id="transcript for want of text"),
        pytest.param({"content": "said", "audio": SOUND}, ["said", "audio"], id="text before transcript"),
        pytest.param({"content": None, "refusal": "I will not"}, ["I will not"], id="refusal"),
        pytest.param({"content": "x", "reasoning_content": "hm"}, ["hm", "x"], id="reasoning_content"),
        pytest.param({"content": "x", "reasoning": "hm"}, ["hm", "x"], id="reasoning"),
        pytest.param(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "x"},
                ]
            },
            ["hm", "x"],
            id="thinking part",
        ),
    ],
)
def test_an_answer_is_read_in_every_form(said: dict[str, Any], parts: list[str]) -> None:
    assert shape(answered(**said)) == parts


def test_reasoning_is_hidden_and_leaves_the_raw_text_alone() -> None:
    output = answered(content="x", reasoning_content="hm").output
    assert output is not None
    assert (output.parts[0].kind, output.parts[0].raw) == ("reasoning", "")
    assert output.raw == "x"


def test_the_bytes_of_a_picture_arrive_unchanged() -> None:
    output = answered(content="x", images=[IMAGE]).output
    assert output is not None
    assert output.media("image") == (Media.from_bytes(PNG),)


def test_a_sound_in_a_choice_of_its_own_belongs_to_the_answer() -> None:
    response = received({"message": {"content": "said"}}, {"message": {"content": None, "audio": SOUND}})
    assert shape(response) == ["said", "audio"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "stop"),
        (None, "stop"),
    ],
)
def test_the_reason_for_the_end_is_mapped(reason: str | None, expected: str) -> None:
    assert received({"message": {"content": "x"}, "finish_reason": reason}).finish_reason == expected


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param([], id="no choice"),
        pytest.param([None], id="null choice"),
        pytest.param([{}], id="no message"),
        pytest.param([{"message": "x"}], id="message is a string"),
        pytest.param([{"message": {"role": "assistant"}}], id="nothing said"),
        pytest.param([{"message": {"content": 5}}], id="content is a number"),
        pytest.param([{"message": {"content": [5]}}], id="part is a number"),
        pytest.param([{"message": {"content": [{"type": "widget"}]}}], id="unknown part"),
        pytest.param([{"message": {"content": "x", "images": "y"}}], id="images are no list"),
        pytest.param([{"message": {"content": "x", "images": ["https://cdn/x.png"]}}], id="link"),
        pytest.param([{"message": {"content": "x", "audio": {"transcript": "t"}}}], id="sound without data"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_bad_reply(choices: list[Any]) -> None:
    with pytest.raises(CallError) as caught:
        received(*choices)
    assert caught.value.kind == "bad_reply"


def test_an_error_inside_a_choice_is_an_error_of_the_server() -> None:
    with pytest.raises(CallError, match="upstream died") as caught:
        received({"message": {"content": ""}, "error": {"code": 502, "message": "upstream died"}})
    assert caught.value.kind == "server"


def test_an_image_option_that_chat_cannot_carry_is_said_where_a_picture_was_wanted() -> None:
    body = Received(200, {}, b'{"choices": [{"message": {"content": "x"}}]}', 0.1)
    drawn = request("q", wants=("text", "image"), options={"image.size": "1x1"})
    assert "image.size" in endpoint().decode(body, drawn).warnings[0]
    assert endpoint().decode(body, request("q", options={"image.size": "1x1"})).warnings == ()
