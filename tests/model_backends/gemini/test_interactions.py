"""Interactions: requests as they are sent, answers as they are read."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mmeval.records import Request, Response, message, user
from tests.support.gemini import exchanged, inline, interaction, said, shape, streamed
from tests.support.openai_calls import kind_of, medium, request
from tests.support.servers import Scripted
from tests.support.tiny_media import picture

DRAWN = picture()
OAK = Scripted(interaction(said("oak")))
PICTURE = {
    "type": "image",
    "mime_type": "image/png",
    "data": inline(DRAWN)["inlineData"]["data"],
}


def sent(asked: Request, reply: Scripted = OAK, **arguments: Any) -> dict[str, Any]:
    """The body of a request."""
    given = {"api": "interactions", **arguments}
    return exchanged(asked, reply, **given)[1].json


def answered(reply: dict[str, Any] | Scripted, **arguments: Any) -> Response:
    scripted = reply if isinstance(reply, Scripted) else Scripted(reply)
    given = {"api": "interactions", "outputs": "text+image+audio", **arguments}
    return exchanged(request("q"), scripted, **given)[0]


def events(*steps: Any, **done: Any) -> list[dict[str, Any]]:
    """The events of a stream; each step is its type and its deltas."""
    rows: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": {"status": "in_progress"}}
    ]
    for index, (kind, *deltas) in enumerate(steps):
        place = {"index": index}
        rows.append({"event_type": "step.start", **place, "step": {"type": kind}})
        rows += [
            {"event_type": "step.delta", **place, "delta": delta} for delta in deltas
        ]
        rows.append({"event_type": "step.stop", **place})
    if done:
        rows.append({"event_type": "interaction.completed", "interaction": done})
    return rows


def words(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# --- requests -------------------------------------------------------------------------


def test_a_request_is_not_stored_and_has_the_names_of_the_interface() -> None:
    asked = Request(
        (message("system", "Be brief."), user("q")),
        request("q", max_gen_toks=64, temperature=0.5, until=["x"]).params,
        seed=7,
    )
    assert sent(asked) == {
        "model": "m",
        "store": False,
        "system_instruction": "Be brief.",
        "generation_config": {
            "temperature": 0.5,
            "max_output_tokens": 64,
            "stop_sequences": ["x"],
            "seed": 7,
            "thinking_summaries": "auto",
        },
        "input": [{"type": "user_input", "content": [words("q")]}],
    }


def test_wanted_kinds_are_asked_as_formats() -> None:
    options = {"image.aspect_ratio": "3:2", "audio.voice": "Puck"}
    asked = request("q", wants=("text", "image", "audio"), options=options)
    body = sent(asked, outputs="text+image+audio")
    assert body["response_format"] == [
        {"type": "text"},
        {"type": "image", "aspect_ratio": "3:2"},
        {"type": "audio"},
    ]
    assert body["generation_config"]["speech_config"] == [{"voice": "Puck"}]


def test_media_are_contents() -> None:
    body = sent(request("see", medium(DRAWN)))
    assert body["input"][0]["content"] == [words("see"), PICTURE]


def test_what_has_no_field_is_a_warning() -> None:
    response = exchanged(request("q", top_k=4), OAK, api="interactions")[0]
    assert response.warnings == (
        "the interface has no field for top_k, so this was not sent",
    )


def test_earlier_steps_are_given_back_byte_for_byte() -> None:
    steps = (
        b'{"type" : "thought","signature":"c2ln\\u003d"} , '
        b'{"type":"model_output","content":[{"type":"text","text":"Red:"}]}'
    )
    raw = b'{"status":"completed","steps" :[' + steps + b"]}"
    first = answered(Scripted(raw))
    assert first.output is not None
    row = replace(message("assistant", first.output), turn=first.turn)
    asked = request(user("q"), row, user("r"))
    body = exchanged(asked, OAK, api="interactions")[1].body
    for step in steps.split(b" , "):
        assert step in body
    assert len(json.loads(body)["input"]) == 4


# --- answers --------------------------------------------------------------------------


def test_an_answer_is_the_content_of_its_steps_behind_the_thoughts() -> None:
    thought = {"type": "thought", "signature": "eA==", "summary": [words("Two.")]}
    response = answered(interaction(thought, said("A", PICTURE), said("B")))
    assert shape(response) == ["Two.", "A", "image", "B"]
    assert response.warnings == ()


def test_outputs_of_earlier_servers_are_read() -> None:
    reply = {"status": "completed", "outputs": [words("oak")]}
    assert shape(answered(reply)) == ["oak"]


@pytest.mark.parametrize(
    ("step", "word"),
    [
        ({"type": "function_call", "name": "search", "arguments": {}}, "search"),
        ({"type": "code_execution_call", "arguments": {"code": "x"}}, "code_execution"),
        (said({"type": "hologram", "data": "y" * 70}), "hologram"),
    ],
    ids=["call", "execution", "content"],
)
def test_what_became_no_part_is_named(step: Any, word: str) -> None:
    response = answered(interaction(said("oak"), step))
    assert shape(response) == ["oak"]
    assert word in " ".join(response.warnings)


@pytest.mark.parametrize(
    ("status", "finish"),
    [
        ("completed", "stop"),
        ("requires_action", "stop"),
        ("incomplete", "length"),
        ("budget_exceeded", "length"),
        ("requires_continuation", "length"),
    ],
)
def test_the_status_decides_how_an_answer_ended(status: str, finish: str) -> None:
    response = answered(interaction(said("oak"), status=status))
    assert shape(response) == ["oak"]
    assert response.finish_reason == finish


@pytest.mark.parametrize(
    ("status", "errors", "kind"),
    [
        ("failed", [{"code": "INTERNAL", "message": "worker died"}], "server"),
        ("failed", [{"code": "RESOURCE_EXHAUSTED", "message": "slow"}], "rate_limit"),
        ("failed", [], "server"),
        ("cancelled", [], "server"),
        ("in_progress", [], "server"),
    ],
)
def test_a_failed_interaction_is_an_error(
    status: str, errors: list[Any], kind: str
) -> None:
    assert kind_of(answered(interaction(status=status, errors=errors))) == kind


def test_a_filter_of_the_service_refuses_with_what_has_come() -> None:
    errors = [{"code": "content_policy_violation", "message": "no"}]
    response = answered(interaction(said("Well,"), status="failed", errors=errors))
    assert shape(response) == ["Well,"]
    assert response.finish_reason == "refused"


def test_a_step_that_failed_is_a_warning_beside_what_has_come() -> None:
    step = {**said("oak"), "error": {"code": 13, "message": "no picture"}}
    response = answered(interaction(step, status="incomplete"))
    assert shape(response) == ["oak"]
    assert response.finish_reason == "length"
    assert "no picture" in response.warnings[0]


def test_a_sound_has_the_stated_rate_and_channels() -> None:
    sound = {
        "type": "audio",
        "mime_type": "audio/l16",
        "sample_rate": 16000,
        "channels": 2,
        "data": inline(bytes(400))["inlineData"]["data"],
    }
    response = answered(interaction(said(sound)))
    assert response.output is not None
    header = response.output.media()[0].read()[22:28]
    assert header == b"\x02\0" + (16000).to_bytes(4, "little")


def test_thoughts_are_counted_as_output() -> None:
    counted = {
        "total_input_tokens": 2,
        "total_output_tokens": 3,
        "total_thought_tokens": 4,
    }
    usage = answered(interaction(said("oak"), usage=counted)).usage
    assert usage.input_tokens == 2
    assert usage.output_tokens == 7


# --- streams --------------------------------------------------------------------------


def test_the_deltas_of_a_stream_make_the_answer_and_its_turn() -> None:
    summary = {"type": "thought_summary", "content": words("Two.")}
    rows = events(
        ("thought", summary, {"type": "thought_signature", "signature": "eA=="}),
        ("model_output", words("Fir"), words("st:"), PICTURE, words("Done.")),
        status="completed",
        usage={"total_input_tokens": 5},
    )
    response = answered(streamed(*rows, "[DONE]"), stream=True)
    assert shape(response) == ["Two.", "First:", "image", "Done."]
    assert response.warnings == ()
    assert response.usage.input_tokens == 5
    assert response.turn is not None
    thought, given = json.loads(response.turn.items.read())
    assert thought["signature"] == "eA=="
    assert given["content"] == [words("First:"), PICTURE, words("Done.")]


def test_pieces_of_a_sound_are_one_sound() -> None:
    pieces = [
        {
            "type": "audio",
            "mime_type": "audio/l16",
            "data": inline(bytes([number, 0]) * 50)["inlineData"]["data"],
        }
        for number in (1, 2)
    ]
    rows = events(("model_output", *pieces), status="completed")
    response = answered(streamed(*rows), stream=True)
    assert response.output is not None
    [sound] = response.output.media()
    assert sound.read()[44:] == b"\1\0" * 50 + b"\2\0" * 50


def test_a_stream_that_is_incomplete_by_its_status_has_ended() -> None:
    update = {"event_type": "interaction.status_update", "status": "incomplete"}
    rows = [*events(("model_output", words("oak"))), update]
    response = answered(streamed(*rows), stream=True)
    assert shape(response) == ["oak"]
    assert response.finish_reason == "length"


def test_a_completed_interaction_need_not_state_its_status() -> None:
    created = {
        "event_type": "interaction.created",
        "interaction": {"id": "i", "status": "in_progress"},
    }
    completed = {"event_type": "interaction.completed", "interaction": {"id": "i"}}
    rows = [created, *events(("model_output", words("oak"))), completed]
    assert shape(answered(streamed(*rows), stream=True)) == ["oak"]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ([], "connection"),
        (["[DONE]"], "connection"),
        ([{"event_type": "error", "error": {"code": 503, "message": "x"}}], "server"),
    ],
    ids=["cut", "cut and done", "error"],
)
def test_half_an_answer_is_none(more: list[Any], kind: str) -> None:
    rows = [*events(("model_output", words("half"))), *more]
    assert kind_of(answered(streamed(*rows), stream=True)) == kind
