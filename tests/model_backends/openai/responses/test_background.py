import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records import Response
from tests.support.openai_calls import PNG, failure, generate, request
from tests.support.responses import (
    RESPONSES,
    drawn,
    events_of,
    failed,
    incomplete,
    response,
    said,
    streamed,
    whole,
)
from tests.support.wire_server import Exchange, Reply, WireServer, reply, stream

JOB = f"{RESPONSES}/resp_1"
QUEUED = whole(status="queued", usage=None)
GOING = whole(status="in_progress", usage=None)
READY = whole(said("oak"))
BUSY = reply({"error": {"message": "busy"}}, status=503)
LOST = reply({"error": {"message": "no such response"}}, status=404)
ARGUMENTS: dict[str, Any] = {
    "endpoint": "responses",
    "extra_body": {"background": True},
    "poll_seconds": 0.01,
}


def server_of(polls: Sequence[Reply], first: Reply = QUEUED) -> WireServer:
    """A server that replies ``first`` to each request, and to polls as given."""
    exchanges = [Exchange(RESPONSES, [first])]
    if polls:
        exchanges.append(Exchange(JOB, polls))
    return WireServer(*exchanges)


def answered(
    polls: Sequence[Reply], first: Reply = QUEUED, **arguments: Any
) -> Response:
    """The answer of a server that is asked once, and polled as often as given."""
    with server_of(polls, first) as server:
        made = generate(server.url, request("q"), **{**ARGUMENTS, **arguments})
        assert (server.faults, server.count) == ([], 1 + len(polls))
    return made


def posts(server: WireServer) -> int:
    return server.asked.count(f"POST {RESPONSES}")


def answers(server: WireServer, notes: Path, *keys: str, **given: Any) -> list[str]:
    """The errors' kinds of one backend's answers to a request; empty for none."""

    async def run() -> list[str]:
        arguments = {**ARGUMENTS, "timeout": 20, **given}
        backend = OpenAIBackend(model="m", base_url=server.url, **arguments)
        backend.keep_notes_in(notes)
        kinds: list[str] = []
        try:
            for key in keys:
                made = await backend.generate(request("q").with_seed(7, key))
                kinds.append("" if made.error is None else made.error.kind)
        finally:
            await backend.close()
        return kinds

    return asyncio.run(run())


def test_an_answer_that_is_queued_is_polled_until_it_is_ready() -> None:
    made = answered([GOING, READY])
    assert (made.text, made.usage.output_tokens) == ("oak", 34)
    assert made.latency > 0.02


def test_a_picture_comes_with_the_last_poll() -> None:
    made = answered([GOING, whole(drawn(PNG))], outputs="text+image")
    assert made.output is not None
    assert [part.kind for part in made.output.parts] == ["image"]


def test_what_is_kept_for_the_server_is_that_of_the_last_poll() -> None:
    made = answered([READY])
    assert made.turn is not None
    assert b"oak" in made.turn.items.read()


def test_a_poll_that_fails_is_repeated() -> None:
    broken = Reply(READY.body, sends=9)
    limited = reply({}, status=429, headers={"Retry-After": "0.01"})
    page = Reply(b"<html>please wait</html>")
    polls = [BUSY, LOST, broken, limited, page, GOING, READY]
    assert answered(polls).text == "oak"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (incomplete("max_output_tokens", said("oak")), "length"),
        (incomplete("content_filter", said("oak")), "refused"),
        (failed("bio_policy", "No.", said("oak")), "refused"),
    ],
    ids=["cut off", "filtered", "refused"],
)
def test_what_came_before_an_end_is_the_answer(end: Reply, reason: str) -> None:
    made = answered([end])
    assert (made.text, made.finish_reason) == ("oak", reason)


def test_an_answer_that_is_ready_at_once_is_not_polled() -> None:
    assert answered([], READY).text == "oak"


def test_an_answer_that_is_streamed_is_not_polled() -> None:
    assert answered([], streamed(said("oak")), stream=True).text == "oak"


def test_an_answer_whose_stream_is_cut_is_polled() -> None:
    cut = stream(*events_of(said("oak"))[:4])
    assert answered([GOING, READY], cut, stream=True).text == "oak"


def test_an_error_in_a_stream_is_that_of_the_call() -> None:
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."}
    with server_of([], stream(error)) as server:
        assert failure(server.url, **ARGUMENTS).kind == "rate_limit"


def test_the_words_of_a_status_may_be_those_of_an_answer() -> None:
    assert answered([], whole(said('it is "queued"'))).text == 'it is "queued"'


@pytest.mark.parametrize(
    ("poll", "kind"),
    [
        (LOST, "server"),
        (failed("server_error"), "server"),
        (failed("rate_limit_exceeded"), "rate_limit"),
        (whole(status="cancelled"), "server"),
        (reply({"error": {"message": "no"}}, status=401), "auth"),
    ],
    ids=["gone", "failed", "limited", "cancelled", "key"],
)
def test_an_answer_that_never_comes_is_an_error(poll: Reply, kind: str) -> None:
    with server_of([poll]) as server:
        assert failure(server.url, **ARGUMENTS).kind == kind


def test_an_answer_that_is_not_ready_in_time_is_one_that_took_too_long() -> None:
    with server_of([GOING]) as server:
        error = failure(server.url, **ARGUMENTS, timeout=0.2)
    assert error.kind == "timeout"


def test_an_answer_to_wait_for_must_have_an_id() -> None:
    nameless = reply({**response(status="queued"), "id": None})
    with server_of([], nameless) as server:
        assert failure(server.url, **ARGUMENTS).kind == "bad_reply"


def test_an_answer_that_nobody_wanted_in_the_background_is_not_asked_again() -> None:
    with server_of([], QUEUED) as server:
        error = failure(server.url, endpoint="responses")
    assert error.kind == "bad_request"
    assert "background" in error.message


def test_an_id_is_no_path() -> None:
    sly = reply({**response(status="queued"), "id": "../models?x="})
    job = Exchange(f"{RESPONSES}/..%2Fmodels%3Fx=", [READY])
    with WireServer(Exchange(RESPONSES, [sly]), job) as server:
        made = generate(server.url, request("q"), **ARGUMENTS)
        assert (made.text, server.faults) == ("oak", [])


def test_an_answer_is_polled_where_it_is_made() -> None:
    with server_of([READY]) as first, server_of([READY]) as second:
        made = generate(first.url, request("q"), replicas=second.url, **ARGUMENTS)
    assert made.text == "oak"
    assert sorted([first.count, second.count]) == [0, 2]


# --- calls that go on -----------------------------------------------------------------


def test_an_answer_that_outlasts_its_call_is_polled_by_the_next_try(
    tmp_path: Path,
) -> None:
    with server_of([GOING] * 10 + [READY]) as server:
        kinds = answers(server, tmp_path, *["k"] * 6, timeout=0.4, poll_seconds=0.1)
    assert (kinds[0], kinds[-1], posts(server)) == ("timeout", "", 1)


def test_a_resumed_run_goes_on_with_the_answer(tmp_path: Path) -> None:
    with server_of([GOING] * 5 + [READY]) as server:
        begun = answers(server, tmp_path, "k", timeout=0.2, poll_seconds=0.1)
        # the failure was journalled, which changes the key
        ended = answers(server, tmp_path, "another")
    assert (begun, ended, posts(server)) == (["timeout"], [""], 1)


def test_after_an_answer_that_has_failed_another_one_is_asked_for(
    tmp_path: Path,
) -> None:
    with server_of([failed("server_error"), READY]) as server:
        kinds = answers(server, tmp_path, "k", "k")
    assert (kinds, posts(server)) == (["server", ""], 2)


def test_an_answer_above_the_limit_is_fetched_again_and_not_paid_again(
    tmp_path: Path,
) -> None:
    with server_of([whole(said("oak" * 1000))]) as server:
        [small] = answers(server, tmp_path, "k", max_reply_bytes=2000)
        [large] = answers(server, tmp_path, "k")
    assert (small, large, posts(server)) == ("bad_reply", "", 1)
