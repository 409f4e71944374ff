import json
from typing import Any

import pytest

from mmeval.model_backends.openai.responses.stream import streamed_reply
from mmeval.model_backends.wire.failures import CallError
from tests.support.openai_calls import (
    PNG,
    Item,
    drawn,
    events_of,
    response,
    said,
    streamed,
    thought,
)
from tests.support.servers import stream

ITEMS = [thought("Hm."), said("First:"), drawn(PNG), said("Done.", name="msg_2")]
SECRET = "ws-secret-0123456789"


def items_of(body: bytes) -> list[Item]:
    return [json.loads(item) for item in streamed_reply(body).items]


@pytest.mark.parametrize(
    "held", [None, [], ITEMS[:1]], ids=["all", "none of them", "some"]
)
def test_the_items_are_those_that_are_done(held: list[Item] | None) -> None:
    assert items_of(streamed(*ITEMS, output=held).body) == ITEMS


def test_items_stand_at_their_places_and_not_as_they_come() -> None:
    *events, last = events_of(*ITEMS, output=[])
    done = [event for event in events if event["type"].endswith("item.done")]
    assert items_of(stream(*reversed(done), last).body) == ITEMS


def test_a_picture_that_the_last_event_lacks_is_kept() -> None:
    without = drawn(PNG) | {"result": None}
    body = streamed(ITEMS[1], drawn(PNG), output=[ITEMS[1], without]).body
    assert items_of(body) == [ITEMS[1], drawn(PNG)]


def test_an_item_that_was_cut_off_is_taken_from_the_last_event() -> None:
    cut = said("Then", name="msg_2")
    events = events_of(ITEMS[1], end="incomplete", output=[ITEMS[1], cut])
    assert items_of(stream(*events).body) == [ITEMS[1], cut]


def test_a_last_event_that_leaves_items_out_repeats_none() -> None:
    body = streamed(ITEMS[0], ITEMS[1], output=[ITEMS[1]]).body
    assert items_of(body) == ITEMS[:2]


def test_an_item_is_kept_as_it_is_spelled() -> None:
    [*_, last] = events_of(ITEMS[1], output=[])
    spelled = r'{"type" : "message", "id": "a\/b", "n": 1.50}'
    event = f'{{"type": "response.output_item.done", "item": {spelled}}}'
    assert streamed_reply(stream(event, last).body).items == [spelled.encode()]


def test_the_last_event_states_how_it_ended() -> None:
    fields = streamed_reply(streamed(said("oak"), end="incomplete").body).fields
    assert fields["status"] == "incomplete"
    assert fields["usage"]["output_tokens"] == 34


def test_words_without_an_item_are_a_message() -> None:
    pieces = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        for text in ("oa", "k")
    ]
    last = {"type": "response.completed", "response": response()}
    [item] = items_of(stream(*pieces, last, "[DONE]").body)
    assert item["content"] == [{"type": "output_text", "text": "oak"}]


def test_a_secret_that_is_cut_in_words_without_an_item_is_taken_out() -> None:
    pieces = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        for text in (SECRET[:9], SECRET[9:])
    ]
    last = {"type": "response.completed", "response": response()}
    reply = streamed_reply(stream(*pieces, last).body, secrets=[SECRET])
    assert SECRET.encode() not in reply.items[0]


@pytest.mark.parametrize("end", ["[DONE]", ": nothing more"])
def test_a_stream_without_its_end_is_no_answer(end: str) -> None:
    *events, _ = events_of(*ITEMS)
    with pytest.raises(CallError, match="it broke") as raised:
        streamed_reply(stream(*events, end).body, "it broke")
    assert raised.value.kind == "connection"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "oops"},
        {"type": "error", "error": {"code": "server_error", "message": "oops"}},
        {"error": {"code": "server_error", "message": "oops"}},
    ],
    ids=["OpenAI", "nested", "without a type"],
)
def test_an_error_ends_the_response(event: dict[str, Any]) -> None:
    *events, last = events_of(said("oak"))
    reply = streamed_reply(stream(*events, event, last).body)
    assert reply.fields["status"] == "failed"
    assert reply.fields["error"]["message"] == "oops"
    assert len(reply.items) == 1


def test_an_event_with_the_name_of_an_error_is_one() -> None:
    body = b"event: error\ndata: oops\n\n"
    assert streamed_reply(body).fields["error"]["message"] == "oops"


@pytest.mark.parametrize("kind", ["hologram", "response.hologram.delta"])
def test_events_of_no_known_item_are_noted(kind: str) -> None:
    *events, last = events_of(*ITEMS)
    hologram = {"type": kind, "data": "QUJD" * 40}
    sent = stream(*events, "no json", hologram, hologram, last)
    reply = streamed_reply(sent.body)
    assert items_of(sent.body) == ITEMS
    assert reply.unread_bytes == len("no json")
    assert reply.unknown == {f"the event {kind}": [hologram, hologram]}


@pytest.mark.parametrize(
    "place",
    [
        -1,
        10**9,
        None,
    ],
)
def test_a_place_may_be_anything(place: object) -> None:
    done = {
        "type": "response.output_item.done",
        "output_index": place,
        "item": {**said("oak"), "id": ["no text"]},
    }
    last = {"type": "response.completed", "response": response()}
    assert len(items_of(stream(done, last).body)) == 1


def test_an_item_whose_id_is_not_a_text_is_kept() -> None:
    item = said("First:") | {"id": {}}
    assert items_of(streamed(output=[item]).body) == [item]
