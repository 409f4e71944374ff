from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.records import Response
from tests.support.openai_calls import failure, generate, request
from tests.support.responses import RESPONSES, response, said, streamed, whole
from tests.support.wire_server import Exchange, Reply, WireServer, reply

JOB = f"{RESPONSES}/resp_1"
QUEUED = whole(status="queued", usage=None)
GOING = whole(status="in_progress", usage=None)
READY = whole(said("oak"))
BUSY = reply({"error": {"message": "busy"}}, status=503)
ARGUMENTS: dict[str, Any] = {"endpoint": "responses", "poll_seconds": 0.01}


def answered(first: Reply, looks: Sequence[Reply], **arguments: Any) -> Response:
    """The answer of a server that first replies so, and is looked at so often."""
    asked, job = Exchange(RESPONSES, [first]), Exchange(JOB, looks)
    with WireServer(asked, job) as server:
        made = generate(server.url, request("q"), **{**ARGUMENTS, **arguments})
        assert (server.faults, server.count) == ([], 1 + len(looks))
    return made


def test_an_answer_that_is_queued_is_looked_at_until_it_is_ready() -> None:
    made = answered(QUEUED, [GOING, READY], extra_body={"background": True})
    assert (made.text, made.usage.output_tokens) == ("oak", 34)
    assert made.latency > 0.02


def test_a_look_that_fails_is_repeated() -> None:
    broken = Reply(READY.body, sends=9)
    limited = reply({}, status=429, headers={"Retry-After": "0.01"})
    assert answered(QUEUED, [BUSY, broken, limited, GOING, READY]).text == "oak"


def test_an_answer_that_is_ready_at_once_is_not_looked_at() -> None:
    assert answered(READY, []).text == "oak"


def test_a_stream_is_not_looked_at() -> None:
    assert answered(streamed(said("oak")), []).text == "oak"


def test_the_words_of_a_status_may_be_those_of_an_answer() -> None:
    assert answered(whole(said('it is "queued"')), []).text == 'it is "queued"'


@pytest.mark.parametrize(
    ("look", "kind"),
    [
        (reply({"error": {"message": "gone"}}, status=404), "bad_request"),
        (whole(status="failed", error={"code": "server_error"}), "server"),
        (whole(status="cancelled"), "server"),
        (Reply(b"oops"), "bad_reply"),
    ],
    ids=["gone", "failed", "cancelled", "no json"],
)
def test_an_answer_that_never_comes_is_an_error(look: Reply, kind: str) -> None:
    with WireServer(Exchange(RESPONSES, [QUEUED]), Exchange(JOB, [look])) as server:
        assert failure(server.url, **ARGUMENTS).kind == kind


def test_an_answer_that_is_not_ready_in_time_is_one_that_took_too_long() -> None:
    with WireServer(Exchange(RESPONSES, [QUEUED]), Exchange(JOB, [GOING])) as server:
        error = failure(server.url, **ARGUMENTS, timeout=0.2)
    assert error.kind == "timeout"


def test_an_answer_to_wait_for_must_have_an_id() -> None:
    nameless = reply({**response(status="queued"), "id": None})
    with WireServer(Exchange(RESPONSES, [nameless])) as server:
        assert failure(server.url, **ARGUMENTS).kind == "bad_reply"


def test_an_id_is_no_path() -> None:
    sly = reply({**response(status="queued"), "id": "../models?x="})
    job = Exchange(f"{RESPONSES}/..%2Fmodels%3Fx=", [READY])
    with WireServer(Exchange(RESPONSES, [sly]), job) as server:
        made = generate(server.url, request("q"), **ARGUMENTS)
        assert (made.text, server.faults) == ("oak", [])


def test_an_answer_is_looked_at_where_it_is_made() -> None:
    asked, job = Exchange(RESPONSES, [QUEUED]), Exchange(JOB, [READY])
    with WireServer(asked, job) as first, WireServer(asked, job) as second:
        made = generate(first.url, request("q"), replicas=second.url, **ARGUMENTS)
    assert made.text == "oak"
    assert sorted([first.count, second.count]) == [0, 2]
