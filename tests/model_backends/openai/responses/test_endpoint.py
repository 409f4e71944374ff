import json
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.records import Request, Response, Usage
from tests.support.gemini import shape
from tests.support.openai_calls import (
    PNG,
    drawn,
    endpoint,
    failed,
    incomplete,
    not_drawn,
    refusal,
    request,
    said,
    thought,
    whole,
)
from tests.support.servers import Reply, reply

BOTH = request("draw", wants=("text", "image"))


def sent(asked: Request, **arguments: Any) -> Any:
    return json.loads(endpoint(**arguments).encode(asked).body)


def read(answer: Reply, asked: Request = BOTH, **arguments: Any) -> Response:
    received = HttpReply(200, {"Content-Type": answer.content_type}, answer.body, 0.5)
    return endpoint(**arguments).decode(received, asked)


# --- requests -------------------------------------------------------------------------


def test_a_request_has_the_names_of_the_interface() -> None:
    asked = request("q", max_gen_toks=64, temperature=0.5, top_p=0.9)
    body = sent(asked)
    del body["input"]
    assert body == {
        "model": "m",
        "max_output_tokens": 64,
        "temperature": 0.5,
        "top_p": 0.9,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_the_tool_that_draws_has_the_options_of_the_task_under_the_users() -> None:
    options = {"image.size": "1024x1024", "image.quality": "low"}
    tool = {"model": "gpt-image-1.5", "quality": "high"}
    asked = request("q", wants=("text", "image"), options=options)
    body = sent(asked, image_tool=tool)
    [drawing] = body["tools"]
    assert drawing == {"type": "image_generation", "size": "1024x1024", **tool}
    assert "tool_choice" not in body


def test_a_picture_alone_is_drawn_in_any_case() -> None:
    body = sent(request("q", wants=("image",)))
    assert body["tool_choice"] == {"type": "image_generation"}


def test_words_alone_are_asked_without_a_tool() -> None:
    assert "tools" not in sent(request("q"), image_tool={"quality": "high"})


def test_json_is_a_format_of_the_text() -> None:
    body = sent(request("q"), response_format="json_object")
    assert body["text"] == {"format": {"type": "json_object"}}


def test_fields_of_the_user_are_merged_last() -> None:
    extra = {"reasoning": {"effort": "low"}, "include": None, "store": True}
    body = sent(request("q"), extra_body=extra)
    assert body["reasoning"] == {"effort": "low"}
    assert body["store"] is True
    assert "include" not in body


def test_an_answer_in_the_background_is_stored() -> None:
    body = sent(request("q"), extra_body={"background": True})
    assert body["store"] is True
    assert body["background"] is True


def test_what_has_no_field_is_a_warning() -> None:
    asked = request("q", until=["\n"], top_k=4)
    assert not {"stop", "top_k", "seed"} & sent(asked).keys()
    assert read(whole(said("oak")), asked).warnings == (
        "responses has no field for top_k, stop; not sent",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"endpoint": "chat", "image_tool": {"quality": "high"}},
        {"endpoint": "chat", "state": "previous"},
        {"state": "other"},
        {"state": "previous", "replicas": "http://localhost:2/v1"},
        {"batch": True},
        {"image_tool": {"quality": float("nan")}},
        {"outputs": "text+audio"},
        {"poll_seconds": 0},
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_used_is_refused(arguments: dict[str, Any]) -> None:
    given = {"endpoint": "responses", "model": "m", "base_url": "http://localhost/v1"}
    with pytest.raises(UsageError):
        OpenAIBackend(**{**given, **arguments})


def test_what_can_change_an_answer_is_part_of_the_identity() -> None:
    given: dict[str, Any] = {"model": "m", "base_url": "http://localhost/v1"}
    given["endpoint"] = "responses"
    plain = OpenAIBackend(**given).identity
    tool = {"quality": "high"}
    changed = OpenAIBackend(**given, image_tool=tool, state="previous").identity
    assert {**plain, "image_tool": tool, "state": "previous"} == changed


# --- items ----------------------------------------------------------------------------


def test_an_answer_is_its_items_in_order() -> None:
    answer = read(
        whole(
            thought("One."),
            said("First: ", phase="commentary"),
            drawn(PNG),
            thought("Two.", name="rs_2"),
            said("and ", "then"),
        )
    )
    assert shape(answer) == ["One.\n\nTwo.", "First: ", "image", "and then"]
    assert answer.finish_reason == "stop"
    assert answer.warnings == ()
    assert answer.usage == Usage(12, 34)
    assert answer.served == "gpt-5.4"


def test_reasoning_of_open_models_is_read_in_full() -> None:
    content = [{"type": "reasoning_text", "text": "Oaks have acorns."}]
    answer = read(whole(thought(content=content), said("oak")))
    assert shape(answer) == ["Oaks have acorns.", "oak"]


def test_the_answer_keeps_its_items() -> None:
    items = [thought("One."), said("oak")]
    turn = read(whole(*items)).turn
    assert turn is not None
    assert json.loads(turn.items.read()) == items


@pytest.mark.parametrize(
    ("item", "warning"),
    [
        ({"type": "hologram_call", "result": "QUJD" * 40}, "hologram_call (120 bytes"),
        (
            {"type": "web_search_call", "action": {"query": "oaks"}},
            "web_search_call (4 bytes",
        ),
        (
            {"type": "function_call", "name": "look", "arguments": "{}"},
            "function_call 'look' (2 bytes)",
        ),
        ({"no": "type"}, "an item without a type"),
        ({"type": ["list"]}, "['list']"),
    ],
    ids=["unknown", "search", "function", "no type", "list as type"],
)
def test_an_item_that_is_no_part_is_named(item: dict[str, Any], warning: str) -> None:
    answer = read(whole(said("oak"), item))
    assert shape(answer) == ["oak"]
    [left_out] = answer.warnings
    assert left_out.startswith(f"left out of the answer: {warning}")


def test_an_empty_answer_says_so() -> None:
    answer = read(whole())
    assert shape(answer) == []
    assert len(answer.warnings) == 1
    assert answer.turn is None


@pytest.mark.parametrize(
    "answer", [reply({"id": "r", "object": "response"}), reply({"output": "oak"})]
)
def test_a_reply_without_an_output_is_none(answer: Reply) -> None:
    with pytest.raises(CallError, match="bad_reply"):
        read(answer)


# --- how it ended ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", "length"),
        ("max_messages", "length"),
        ("steered", "length"),
        ("content_filter", "refused"),
    ],
)
def test_an_incomplete_answer_has_its_reason(reason: str, finish: str) -> None:
    answer = read(incomplete(reason, said("First:")))
    assert shape(answer) == ["First:"]
    assert answer.finish_reason == finish


def test_a_refusal_of_the_model_keeps_its_words() -> None:
    answer = read(whole(refusal("I cannot.")))
    assert shape(answer) == ["I cannot."]
    assert answer.finish_reason == "refused"


def test_a_picture_that_is_blocked_is_a_refusal_without_words() -> None:
    blocked = not_drawn("moderation_blocked", "Blocked.")
    answer = read(whole(said("First:"), blocked, drawn(PNG)))
    assert shape(answer) == ["First:", "image"]
    assert answer.finish_reason == "refused"


def test_a_picture_is_blocked_where_a_moderation_is_stated_under_any_code() -> None:
    blocked = not_drawn("image_generation_user_error", "Blocked.")
    blocked["error"]["moderation_details"] = {"categories": ["violence"]}
    answer = read(whole(said("First:"), blocked))
    assert shape(answer) == ["First:"]
    assert answer.finish_reason == "refused"


@pytest.mark.parametrize(
    "call", [not_drawn(), not_drawn("server_error", "busy"), not_drawn(status=None)]
)
def test_a_picture_that_failed_is_a_warning(call: dict[str, Any]) -> None:
    answer = read(whole(said("First:"), call))
    assert answer.finish_reason == "stop"
    assert len(answer.warnings) == 1
    assert "picture" in answer.warnings[0]


def test_a_failed_response_is_the_error_that_it_states() -> None:
    with pytest.raises(CallError, match=r"It failed\.") as raised:
        read(failed("rate_limit_exceeded"))
    assert raised.value.kind == "rate_limit"


def test_a_response_that_failed_by_a_policy_is_a_refusal() -> None:
    answer = read(failed("bio_policy", "Not this.", said("First:")))
    assert shape(answer) == ["First:"]
    assert answer.finish_reason == "refused"
    assert "Not this." in answer.warnings[0]


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_a_response_that_will_not_come_is_asked_again(status: str) -> None:
    with pytest.raises(CallError, match="server"):
        read(whole(status=status))
