import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.handshake.handshake import (
    ANSWERS,
    MAX_CALLS,
    Extent,
    found_format,
    handshake,
    narrowed,
)
from mmeval.backend.handshake.inputs import AT_ONCE, MANY, ORDER, TAKES, WITHOUT_MEDIA
from mmeval.backend.handshake.outputs import JSON
from mmeval.backend.probe import Probe, Verdict
from mmeval.records.request import Request
from mmeval.records.response import ErrorKind, Response
from tests.support.handshakes import (
    MODEL,
    Answer,
    counted,
    failed,
    outcome,
    question,
    verdicts,
)
from tests.support.toy import reply

ALL_KINDS = ("text", "image", "audio", "video", "document")
CHAT = replace(
    Capabilities.of(ALL_KINDS, ["text"]),
    reply_formats=("json_schema", "guided_json", "format", "json_object"),
)
PICTURES = Extent(frozenset({"image"}))


def asked(
    answer: Answer, extent: Extent, capabilities: Capabilities = CHAT
) -> tuple[list[Probe], list[Request]]:
    program = handshake(MODEL, capabilities, extent, random.Random(7))
    return outcome(program, answer)


def prose(request: Request) -> Response:
    return reply("I see a cat on a table.")


def blind(request: Request) -> Response:
    """Answers in words, and counts the words of the question alone."""
    return counted("I see a cat on a table.", len(question(request)) // 4)


def test_an_extent_decides_which_kinds_are_asked_about() -> None:
    probes, requests = asked(prose, PICTURES)

    assert len(requests) == 2
    assert verdicts(probes).keys() == {ANSWERS, TAKES["image"]}


def test_questions_of_a_run_are_sent_side_by_side() -> None:
    extent = Extent(frozenset({"image", "audio"}), reply_format=True)
    program = handshake(MODEL, CHAT, extent, random.Random(7))

    calls = next(program)

    assert isinstance(calls, Sequence)
    assert len(calls) == 4


def test_a_dropped_picture_is_denied_by_its_prompt_tokens() -> None:
    probes, _ = asked(blind, PICTURES)

    (_, seen) = probes
    assert seen.verdict == "no"
    assert "prompt tokens" in seen.evidence


def test_the_model_that_answers_is_the_evidence() -> None:
    (answers, _), _ = asked(lambda _: replace(reply("ready"), served="m-2"), PICTURES)

    assert answers.evidence.endswith("m-2")


@pytest.mark.parametrize(
    ("error", "verdict"), [("bad_request", "no"), ("timeout", "unknown")]
)
def test_a_model_that_does_not_answer_has_one_probe(
    error: ErrorKind, verdict: Verdict
) -> None:
    probes, _ = asked(lambda _: failed(error), PICTURES)

    assert verdicts(probes) == {ANSWERS: verdict}


def test_a_complete_handshake_with_a_model_that_does_not_answer_is_one_call() -> None:
    _, requests = asked(lambda _: failed(), Extent.whole(CHAT))

    (request,) = requests
    assert question(request) == WITHOUT_MEDIA


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(prose, id="prose"),
        pytest.param(
            lambda request: (
                reply("ready") if question(request) == WITHOUT_MEDIA else failed()
            ),
            id="refuses all but one",
        ),
    ],
)
def test_a_complete_handshake_makes_at_most_twelve_calls(answer: Answer) -> None:
    drawing = replace(CHAT, outputs=Capabilities.of([], ["text", "image"]).outputs)

    _, requests = asked(answer, Extent.whole(drawing), drawing)

    assert len(requests) <= MAX_CALLS == 12


def test_a_question_beyond_the_limit_leaves_its_probe_unknown() -> None:
    drawing = replace(
        CHAT, outputs=Capabilities.of([], ["text", "image", "audio"]).outputs
    )

    probes, requests = asked(prose, Extent.whole(drawing), drawing)

    assert len(requests) == MAX_CALLS
    assert "unknown" in verdicts(probes).values()


def test_a_model_without_text_is_asked_for_its_media_alone() -> None:
    painter = Capabilities.of(["text"], ["image"])

    _, requests = asked(prose, Extent.whole(painter), painter)

    assert [request.wants for request in requests] == [("image",)]


def test_a_run_asks_a_model_without_text_nothing() -> None:
    painter = Capabilities.of(["text", "image"], ["image"])

    probes, requests = asked(prose, PICTURES, painter)

    assert (probes, requests) == ([], [])


def test_every_handshake_shows_other_content() -> None:
    def word(seed: int) -> str:
        program = handshake(MODEL, CHAT, Extent.whole(CHAT), random.Random(seed))
        _, requests = outcome(program, prose)
        return str([request.digest for request in requests[1:]])

    assert len({word(seed) for seed in range(5)}) == 5


# What probes change


def denied(kind: str) -> Probe:
    return Probe(kind, "no", "it answered prose", declared=True)


def test_a_denied_kind_is_not_taken() -> None:
    capabilities = narrowed(CHAT, [denied(TAKES["image"])])

    assert "image" not in capabilities.inputs
    assert capabilities.denied == {"image": "it answered prose"}


def test_a_denied_kind_that_the_user_declares_is_kept() -> None:
    capabilities = narrowed(CHAT, [denied(TAKES["image"])], given=["image"])

    assert "image" in capabilities.inputs
    assert capabilities.denied == {}


@pytest.mark.parametrize("verdict", ["yes", "doubtful", "unknown"])
def test_another_verdict_keeps_a_kind(verdict: Verdict) -> None:
    capabilities = narrowed(CHAT, [Probe(TAKES["image"], verdict)])

    assert "image" in capabilities.inputs


@pytest.mark.parametrize(
    ("name", "most"), [(AT_ONCE, 1), (MANY, None), (ORDER, None)], ids=str
)
def test_two_denied_pictures_limit_a_request_to_one(
    name: str, most: int | None
) -> None:
    capabilities = narrowed(CHAT, [denied(name)])

    assert capabilities.inputs["image"].max_items == most


@pytest.mark.parametrize(
    ("probes", "form"),
    [
        pytest.param([Probe(JSON, "yes", "format")], "format", id="found"),
        pytest.param([Probe(JSON, "no", "format")], None, id="denied"),
        pytest.param([Probe(JSON, "yes", "xml")], None, id="another backend's"),
        pytest.param([], None, id="not asked"),
    ],
)
def test_the_format_of_replies_is_the_one_that_was_found(
    probes: list[Probe], form: str | None
) -> None:
    assert found_format(probes, CHAT.reply_formats) == form


def test_a_probe_is_read_back_from_json() -> None:
    probe = Probe(TAKES["image"], "no", "it answered prose", declared=True)

    assert Probe.from_json(probe.to_json()) == probe


def test_an_unknown_verdict_is_not_a_probe() -> None:
    row = Probe(ANSWERS, "yes").to_json() | {"verdict": "perhaps"}

    with pytest.raises(ValueError, match="perhaps"):
        Probe.from_json(row)
