import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities, OutputMode
from mmeval.backend.handshake import outputs
from mmeval.backend.handshake.outputs import JSON, SEED, STOP, SYSTEM, TEMPERATURE
from mmeval.backend.probe import ReplyFormat, Verdict
from mmeval.media.parts import PartKind
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.handshakes import (
    MODEL,
    failed,
    in_turn,
    outcome,
    question,
    verdicts,
)
from tests.support.toy import picture, reply

ALL_FORMATS: tuple[ReplyFormat, ...] = (
    "json_schema",
    "guided_json",
    "format",
    "json_object",
)


@pytest.fixture
def draw() -> random.Random:
    return random.Random(7)


# Seeds


def test_a_seed_holds_if_equal_seeds_give_equal_replies(draw: random.Random) -> None:
    probes, requests = outcome(
        outputs.seeds(MODEL, draw), lambda request: reply(f"letters {request.seed}")
    )

    first, again, other = (request.seed for request in requests)
    assert first == again != other
    assert verdicts(probes) == {SEED: "yes"}


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        pytest.param(("a", "b", "c"), "no", id="other replies to one seed"),
        pytest.param(("a", "a", "a"), "doubtful", id="one reply to two seeds"),
    ],
)
def test_a_seed_that_does_not_hold(
    texts: tuple[str, ...], verdict: Verdict, draw: random.Random
) -> None:
    answers = in_turn(*map(reply, texts))

    probes, _ = outcome(outputs.seeds(MODEL, draw), answers)

    assert verdicts(probes) == {SEED: verdict}


def test_seeds_are_sampled(draw: random.Random) -> None:
    _, requests = outcome(outputs.seeds(MODEL, draw), in_turn(*[reply("a")] * 3))

    assert {request.params.temperature for request in requests} == {1.0}


# Parameters


def obeys(request: Request) -> Response:
    """Writes the password of the system message, and ends at a stop sequence."""
    words = ["swordfish"]
    system, *_ = request.messages
    if system.role == "system":
        words = [system.content.raw.split()[-1].strip(".")]
    text = question(request)
    words += text.rpartition(": ")[2].strip(".").split(", ")
    written = " ".join(words)
    for stop in request.params.stop or ():
        written = written.partition(stop)[0]
    return reply(written)


def test_one_call_shows_all_parameters(draw: random.Random) -> None:
    probes, requests = outcome(outputs.parameters(MODEL, draw), obeys)

    assert len(requests) == 1
    assert verdicts(probes) == {SYSTEM: "yes", STOP: "yes", TEMPERATURE: "yes"}


def test_a_model_that_does_not_stop_takes_no_stop(draw: random.Random) -> None:
    def goes_on(request: Request) -> Response:
        return reply(question(request))

    probes, _ = outcome(outputs.parameters(MODEL, draw), goes_on)

    assert verdicts(probes)[STOP] == "no"


def test_a_wrong_password_leaves_the_system_message_doubtful(
    draw: random.Random,
) -> None:
    answers = in_turn(reply("swordfish apple, cherry"))

    probes, _ = outcome(outputs.parameters(MODEL, draw), answers)

    assert verdicts(probes)[SYSTEM] == "doubtful"


@pytest.mark.parametrize("refused", [SYSTEM, STOP, TEMPERATURE])
def test_after_a_refusal_parameters_are_sent_one_by_one(
    refused: str, draw: random.Random
) -> None:
    def refuses_one(request: Request) -> Response:
        sent = {
            SYSTEM: request.messages[0].role == "system",
            STOP: bool(request.params.stop),
            TEMPERATURE: request.params.temperature == 0,
        }
        return failed() if sent[refused] else obeys(request)

    probes, requests = outcome(outputs.parameters(MODEL, draw), refuses_one)

    assert len(requests) == 4
    assert verdicts(probes) == {
        name: "no" if name == refused else "yes" for name in (SYSTEM, STOP, TEMPERATURE)
    }


def test_a_server_that_is_too_slow_leaves_parameters_unknown(
    draw: random.Random,
) -> None:
    probes, _ = outcome(outputs.parameters(MODEL, draw), in_turn(failed("timeout")))

    assert set(verdicts(probes).values()) == {"unknown"}


# JSON


def enforces(*forms: str) -> Any:
    def answer(request: Request) -> Response:
        schema = request.reply_schema
        assert schema is not None
        if schema.form not in forms:
            return reply("It is mild.")
        properties: Mapping[str, Any] = schema.schema["properties"]
        return reply(
            json.dumps({key: value["enum"][0] for key, value in properties.items()})
        )

    return answer


def test_formats_are_tried_in_their_order(draw: random.Random) -> None:
    program = outputs.reply_format(MODEL, draw, ALL_FORMATS)

    _, requests = outcome(program, enforces("format"))

    forms = [request.reply_schema.form for request in requests if request.reply_schema]
    assert forms == ["json_schema", "guided_json", "format"]


@pytest.mark.parametrize("form", ALL_FORMATS)
def test_the_first_format_that_is_enforced_is_the_evidence(
    form: ReplyFormat, draw: random.Random
) -> None:
    program = outputs.reply_format(MODEL, draw, ALL_FORMATS)

    (probe,), _ = outcome(program, enforces(form))

    assert (probe.capability, probe.verdict, probe.evidence) == (JSON, "yes", form)


def test_a_schema_has_words_that_the_question_does_not_mention(
    draw: random.Random,
) -> None:
    program = outputs.reply_format(MODEL, draw, ["json_schema"])

    _, (request,) = outcome(program, enforces("json_schema"))

    assert request.reply_schema is not None
    (key,) = request.reply_schema.schema["properties"]
    assert key not in question(request).lower()


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        pytest.param(reply('{"weather": "mild"}'), "no", id="other JSON"),
        pytest.param(failed(), "no", id="refused"),
        pytest.param(failed("timeout"), "unknown", id="too slow"),
    ],
)
def test_a_schema_that_is_not_enforced(
    response: Response, verdict: Verdict, draw: random.Random
) -> None:
    program = outputs.reply_format(MODEL, draw, ["json_schema"])

    probes, _ = outcome(program, in_turn(response))

    assert verdicts(probes) == {JSON: verdict}


def test_a_backend_without_formats_is_not_asked(draw: random.Random) -> None:
    probes, requests = outcome(outputs.reply_format(MODEL, draw, []), in_turn())

    assert (probes, requests) == ([], [])


# Media that are given


def giving(*kinds: PartKind, mode: OutputMode = "interleaved") -> Capabilities:
    return Capabilities.of(["text"], kinds, mode)


def test_a_picture_between_two_texts_is_given_in_order() -> None:
    capabilities = giving("text", "image")
    answers = in_turn(reply("first<<image1>>last", picture()))

    probes, _ = outcome(outputs.gives(MODEL, capabilities), answers)

    assert verdicts(probes) == {
        "gives image": "yes",
        "gives in the requested order": "yes",
    }


def test_a_picture_before_both_texts_is_out_of_order() -> None:
    capabilities = giving("text", "image")
    answers = in_turn(reply("<<image1>>first last", picture()))

    probes, _ = outcome(outputs.gives(MODEL, capabilities), answers)

    assert verdicts(probes)["gives in the requested order"] == "no"


def test_a_picture_that_is_given_only_alone_is_doubtful() -> None:
    capabilities = giving("text", "image")
    answers = in_turn(reply("first last"), reply("<<image1>>", picture()))

    probes, requests = outcome(outputs.gives(MODEL, capabilities), answers)

    assert [request.wants for request in requests] == [("text", "image"), ("image",)]
    assert verdicts(probes) == {"gives image": "doubtful"}


def test_a_picture_that_is_never_given_is_denied() -> None:
    capabilities = giving("text", "image")
    answers = in_turn(reply("first last"), reply("I cannot draw."))

    probes, _ = outcome(outputs.gives(MODEL, capabilities), answers)

    assert verdicts(probes) == {"gives image": "no"}


def test_a_model_of_pictures_alone_is_asked_for_one() -> None:
    capabilities = giving("image")
    answers = in_turn(reply("<<image1>>", picture()))

    probes, _ = outcome(outputs.gives(MODEL, capabilities), answers)

    assert verdicts(probes) == {"gives image": "yes"}


def test_a_model_of_text_is_not_asked_for_media() -> None:
    probes, requests = outcome(outputs.gives(MODEL, giving("text")), in_turn())

    assert (probes, requests) == ([], [])


def test_a_reply_that_was_cut_off_leaves_json_unknown(draw: random.Random) -> None:
    cut_off = replace(reply(""), finish_reason="length")
    question = outputs.reply_format(MODEL, draw, ("json_schema",))

    probes, _ = outcome(question, in_turn(cut_off))

    assert verdicts(probes) == {JSON: "unknown"}
