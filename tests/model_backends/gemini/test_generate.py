"""generateContent: requests as they are sent, answers as they are read."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mmeval.media import PartKind
from mmeval.records import Request, Response, message, user
from tests.support.gemini import ask, exchanged, generated, inline, shape, streamed
from tests.support.openai_calls import data_uri, kind_of, kinds_of, medium, request
from tests.support.servers import Scripted
from tests.support.tiny_media import picture, wav

DRAWN = picture()
PICTURES: tuple[PartKind, ...] = ("text", "image")
OAK = Scripted(generated({"text": "oak"}))


def sent(asked: Request, **arguments: Any) -> dict[str, Any]:
    """The body of a request."""
    return exchanged(asked, OAK, **arguments)[1].json


def answered(*parts: Any, asked: Request | None = None, **more: Any) -> Response:
    """The answer in a reply of these parts."""
    reply = Scripted(generated(*parts, **more))
    return exchanged(asked or request("q"), reply, outputs="text+image+audio")[0]


# --- requests -------------------------------------------------------------------------


def test_words_are_asked_without_modalities() -> None:
    body = sent(request(message("system", "Be brief."), user("q")), thoughts=False)
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"seed": 7},
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    }


def test_parameters_have_the_names_of_the_interface() -> None:
    asked = request(
        "q", temperature=0.5, top_p=0.9, top_k=4, max_gen_toks=64, until=["x"]
    )
    assert sent(asked)["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 4,
        "maxOutputTokens": 64,
        "stopSequences": ["x"],
        "seed": 7,
        "thinkingConfig": {"includeThoughts": True},
    }


def test_a_seed_is_left_out_where_that_is_asked() -> None:
    assert "seed" not in sent(request("q"), send_seed=False)["generationConfig"]


def test_a_picture_is_asked_with_its_shape_and_size() -> None:
    options = {"image.aspect_ratio": "16:9", "image.size": "2k"}
    asked = request("q", wants=PICTURES, options=options)
    config = sent(asked, outputs="text+image")["generationConfig"]
    assert config["responseModalities"] == ["TEXT", "IMAGE"]
    assert config["imageConfig"] == {"aspectRatio": "16:9", "imageSize": "2K"}


def test_a_sound_is_asked_with_a_voice() -> None:
    asked = request("q", wants=("audio",))
    config = sent(asked, outputs="audio", voice="Puck")["generationConfig"]
    assert config["responseModalities"] == ["AUDIO"]
    assert config["speechConfig"] == {
        "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Puck"}}
    }


def test_fields_of_the_user_are_merged_in_either_spelling() -> None:
    extra = {
        "generation_config": {"top_k": 3, "seed": None, "candidate_count": 2},
        "safetySettings": [],
    }
    body = sent(request("q", top_k=9), extra_body=extra, thoughts=False)
    assert body["generationConfig"] == {"topK": 3, "candidate_count": 2}
    assert "generation_config" not in body
    assert body["safetySettings"] == []


def test_a_stream_is_asked_as_events_beside_the_users_query() -> None:
    reply = streamed(generated({"text": "oak"}))
    seen = exchanged(request("q"), reply, stream=True, query="a=b")[1]
    assert seen.path == "/v1beta/models/m:streamGenerateContent?alt=sse&a=b"


def test_an_earlier_answer_is_given_back_byte_for_byte_without_its_thoughts() -> None:
    raw = (
        b'{"candidates" : [ {"content":{ "role":"model","parts":[\n'
        b'{"text":"hm", "thought" : true},'
        b'{"text":"Red:",  "thoughtSignature":"c2ln\\u003d\\/"} ,'
        b'{"text":"","thoughtSignature":"ZW5k"}]},"finishReason":"STOP"}]}'
    )
    first = exchanged(request("q"), Scripted(raw))[0]
    assert first.output is not None
    history = [
        user("q"),
        message("assistant", first.output),
        user("and now?"),
    ]
    history[1] = replace(history[1], turn=first.turn)
    body = exchanged(request(*history), OAK)[1].body
    given_back = (
        b'{"role": "model", "parts": ['
        b'{"text":"Red:",  "thoughtSignature":"c2ln\\u003d\\/"}, '
        b'{"text":"","thoughtSignature":"ZW5k"}]}'
    )
    assert given_back in body
    assert b"hm" not in body


def test_a_turn_of_another_model_is_made_of_its_content() -> None:
    reply = generated({"text": "Red:", "thoughtSignature": "c2ln"}, inline(DRAWN))
    first = exchanged(request("q"), Scripted(reply), outputs="text+image")[0]
    assert first.output is not None
    row = replace(message("assistant", first.output), turn=first.turn)
    body = sent(request(user("q"), row, user("r")), model="other")
    assert body["contents"][1] == {
        "role": "model",
        "parts": [{"text": "Red:"}, inline(DRAWN)],
    }


def test_too_large_a_request_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.model_backends.gemini.backend.MAX_BYTES", 100)
    assert kind_of(ask("http://localhost:1", request("q" * 100))) == "too_long"


# --- answers --------------------------------------------------------------------------


def test_an_answer_is_its_parts_in_their_order_behind_the_thoughts() -> None:
    response = answered(
        {"text": "Two.", "thought": True},
        {"text": "First:"},
        inline(DRAWN, thoughtSignature="c2ln"),
        {"text": "Done."},
    )
    assert shape(response) == ["Two.", "First:", "image", "Done."]
    assert response.warnings == ()


def test_code_of_thoughts_is_hidden_reasoning() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    response = answered({**code, "thought": True}, {"text": "1"})
    assert kinds_of(response) == ["reasoning", "text"]


def test_an_unknown_part_of_thoughts_is_named_in_a_warning() -> None:
    response = answered({"hologram": "abc", "thought": True}, {"text": "oak"})
    assert response.warnings == ("left out of the answer: hologram (3 bytes)",)


def test_pictures_of_thoughts_are_counted_and_no_parts() -> None:
    response = answered(inline(DRAWN, thought=True), {"text": "Here."})
    assert shape(response) == ["Here."]
    assert response.warnings == ()
    assert response.evidence == {"thought_pictures": 1}


def test_fields_of_a_gateway_in_the_other_spelling_are_read() -> None:
    row = {"mime_type": "image/png", "data": inline(DRAWN)["inlineData"]["data"]}
    candidate = {
        "content": {"parts": [{"inline_data": row, "thought_signature": "eA=="}]},
        "finish_reason": "MAX_TOKENS",
    }
    counted = {"prompt_token_count": 3, "candidates_token_count": 4}
    reply = {"candidates": [candidate], "usage_metadata": counted}
    response = exchanged(request("q"), Scripted(reply))[0]
    assert shape(response) == ["image"]
    assert response.finish_reason == "length"
    assert response.usage.input_tokens == 3
    assert response.usage.output_tokens == 4


def test_code_that_was_run_and_its_output_stand_in_their_place() -> None:
    response = answered(
        {"text": "So:"},
        {"executableCode": {"language": "PYTHON", "code": "print(2)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}},
    )
    assert shape(response) == ["So:", "print(2)", "2\n"]
    assert response.output is not None
    assert response.output.parts[1].kind == "code"


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"functionCall": {"name": "search", "args": {}}}, "search"),
        ({"hologram": {"data": "x" * 1024}}, "hologram (1,024 bytes)"),
    ],
    ids=["call", "unknown"],
)
def test_what_became_no_part_is_named(part: Any, words: str) -> None:
    response = answered({"text": "oak"}, part)
    assert shape(response) == ["oak"]
    assert words in " ".join(response.warnings)


def test_a_part_in_the_shape_of_another_interface_is_read() -> None:
    part = {"type": "image_url", "image_url": {"url": data_uri(DRAWN, "image/png")}}
    assert shape(answered({"type": "text", "text": "Here:"}, part)) == [
        "Here:",
        "image",
    ]


def test_samples_without_a_header_become_a_sound_of_their_rate() -> None:
    response = answered(inline(bytes(4800), "audio/L16;codec=pcm;rate=16000"))
    assert response.output is not None
    [sound] = response.output.media()
    assert sound.mime == "audio/wav"
    assert sound.read()[24:28] == (16000).to_bytes(4, "little")
    assert response.warnings == ()


@pytest.mark.parametrize(
    ("reason", "finish", "has_warning"),
    [
        ("STOP", "stop", False),
        ("NO_IMAGE", "stop", True),
        ("MAX_TOKENS", "length", False),
        ("IMAGE_SAFETY", "refused", True),
        ("OTHER", "stop", True),
        (None, "stop", True),
    ],
)
def test_the_reason_decides_how_an_answer_ended(
    reason: str | None, finish: str, has_warning: bool
) -> None:
    response = answered({"text": "oak"}, reason=reason)
    assert shape(response) == ["oak"]
    assert response.finish_reason == finish
    assert bool(response.warnings) is has_warning


@pytest.mark.parametrize("reason", ["OTHER", None])
def test_a_failure_of_the_service_without_parts_is_asked_again(
    reason: str | None,
) -> None:
    assert kind_of(answered(reason=reason)) == "bad_reply"


def test_a_blocked_prompt_is_refused() -> None:
    feedback = {"blockReason": "SAFETY", "blockReasonMessage": "no weapons"}
    reply = Scripted({"promptFeedback": feedback})
    response = exchanged(request("q"), reply)[0]
    assert shape(response) == []
    assert response.finish_reason == "refused"
    assert "no weapons" in response.warnings[0]


def test_thoughts_are_counted_as_output() -> None:
    counted = {
        "promptTokenCount": 2,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4,
    }
    response = answered({"text": "oak"}, usageMetadata=counted)
    assert response.usage.input_tokens == 2
    assert response.usage.output_tokens == 7


# --- streams --------------------------------------------------------------------------


def stream_of(*events: Any, **arguments: Any) -> Response:
    given = {"outputs": "text+image+audio", **arguments}
    return exchanged(request("q"), streamed(*events), stream=True, **given)[0]


def test_the_pieces_of_a_stream_make_the_answer_and_its_turn() -> None:
    response = stream_of(
        generated({"text": "hm", "thought": True}, reason=None),
        generated({"text": "Fir"}, reason=None),
        generated({"text": "st:", "thoughtSignature": "c2ln"}, reason=None),
        generated(inline(DRAWN), usageMetadata={"promptTokenCount": 5}),
    )
    assert shape(response) == ["hm", "First:", "image"]
    assert response.usage.input_tokens == 5
    assert response.turn is not None
    pieces = json.loads(response.turn.items.read())
    assert [piece.get("text") for piece in pieces] == ["Fir", "st:", None]
    assert pieces[1]["thoughtSignature"] == "c2ln"


def test_a_sound_in_pieces_is_one_sound() -> None:
    kind = "audio/L16;rate=24000"
    response = stream_of(
        generated(inline(b"\1\0" * 50, kind), reason=None),
        generated({"text": "", "thoughtSignature": "c2ln"}, reason=None),
        generated(inline(b"\2\0" * 50, kind)),
    )
    assert response.output is not None
    [sound] = response.output.media()
    assert sound.read()[44:] == b"\1\0" * 50 + b"\2\0" * 50


def test_whole_files_in_a_stream_are_one_sound_too() -> None:
    response = stream_of(
        generated(inline(wav(100), "audio/wav"), reason=None),
        generated(inline(wav(100), "audio/wav")),
    )
    assert response.output is not None
    assert len(response.output.media()) == 1


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([generated({"text": "half"}, reason=None)], "connection"),
        ([generated({"text": "half"}, reason=None), "[DONE]"], "connection"),
        ([{"error": {"code": 503, "status": "UNAVAILABLE"}}], "server"),
        (
            [
                generated({"text": "half"}, reason=None),
                {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}},
            ],
            "rate_limit",
        ),
    ],
    ids=["cut", "cut and done", "error", "late error"],
)
def test_half_an_answer_is_none(events: list[Any], kind: str) -> None:
    assert kind_of(stream_of(*events)) == kind


def listed(*rows: Any) -> Response:
    """The answer in a stream that came as a list."""
    reply = Scripted(json.dumps(rows).encode())
    return exchanged(request("q"), reply, stream=True, outputs="text+audio")[0]


def test_a_list_in_place_of_a_stream_is_read() -> None:
    first = generated({"text": "Fir"}, reason=None)
    assert shape(listed(first, generated({"text": "st"}))) == ["First"]


def test_a_list_without_the_end_of_an_answer_is_half_an_answer() -> None:
    assert kind_of(listed(generated({"text": "half"}, reason=None))) == "connection"


def test_a_key_that_a_stream_echoes_in_pieces_is_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "secret-0123456789abcdef"
    monkeypatch.setenv("GEMINI_API_KEY", key)
    response = stream_of(
        generated({"text": key[:9]}, reason=None), generated({"text": key[9:]})
    )
    assert response.turn is not None
    written = json.dumps(response.to_json()) + response.turn.items.read().decode()
    assert key not in written


# --- media in requests ----------------------------------------------------------------


def test_a_picture_of_another_format_is_sent_as_png_with_a_note() -> None:
    asked = request("see", medium(picture("GIF")))
    response, seen = exchanged(asked, OAK)
    part = seen.json["contents"][0]["parts"][1]
    assert part["inlineData"]["mimeType"] == "image/png"
    assert response.warnings == ("a medium (image) is image/gif and was sent as PNG",)


def test_the_only_piece_of_a_sound_may_be_a_data_uri() -> None:
    sound = wav(100)
    part = inline(sound, "audio/wav")
    part["inlineData"]["data"] = f"data:audio/wav;base64,{part['inlineData']['data']}"
    response = stream_of(generated(part))
    assert response.output is not None
    assert [medium.read() for medium in response.output.media()] == [sound]


def test_an_index_that_is_no_number_is_read_by_its_place() -> None:
    reply = generated({"text": "oak"})
    reply["candidates"][0]["index"] = ["x"]
    assert shape(exchanged(request("q"), Scripted(reply))[0]) == ["oak"]
