import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records import Response
from tests.support.engine import HOUR, hour_passes_in_pause
from tests.support.openai_calls import (
    RESPONSES,
    events_of,
    failed,
    failure,
    generate,
    incomplete,
    kind_of,
    request,
    response,
    said,
    streamed,
    whole,
)
from tests.support.servers import Exchange, Reply, WireServer, reply, stream

JOB = f"{RESPONSES}/resp_1"
QUEUED = whole(status="queued", usage=None)
GOING = whole(status="in_progress", usage=None)
READY = whole(said("oak"))
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
        assert server.faults == []
        assert server.count == 1 + len(polls)
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
                kinds.append(kind_of(made))
        finally:
            await backend.close()
        return kinds

    return asyncio.run(run())


def test_an_answer_that_is_queued_is_polled_until_it_is_ready() -> None:
    made = answered([GOING, READY])
    assert made.text == "oak"
    assert made.usage.output_tokens == 34
    assert made.latency > 0.02


def test_what_is_kept_for_the_server_is_that_of_the_last_poll() -> None:
    made = answered([READY])
    assert made.turn is not None
    assert b"oak" in made.turn.items.read()


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
    assert made.text == "oak"
    assert made.finish_reason == reason


def test_an_answer_that_is_ready_at_once_is_not_polled() -> None:
    assert answered([], READY).text == "oak"


def test_an_answer_that_is_streamed_is_not_polled() -> None:
    assert answered([], streamed(said("oak")), stream=True).text == "oak"


def test_an_answer_whose_stream_is_cut_is_polled() -> None:
    cut = stream(*events_of(said("oak"))[:4])
    assert answered([GOING, READY], cut, stream=True).text == "oak"


def test_the_words_of_a_status_may_be_those_of_an_answer() -> None:
    assert answered([], whole(said('it is "queued"'))).text == 'it is "queued"'


@pytest.mark.parametrize(
    ("poll", "kind"),
    [
        (failed("server_error"), "server"),
        (failed("rate_limit_exceeded"), "rate_limit"),
    ],
    ids=[
        "failed",
        "limited",
    ],
)
def test_an_answer_that_never_comes_is_an_error(poll: Reply, kind: str) -> None:
    with server_of([poll]) as server:
        assert failure(server.url, **ARGUMENTS).kind == kind


def test_an_answer_to_wait_for_must_have_an_id() -> None:
    nameless = reply({**response(status="queued"), "id": None})
    with server_of([], nameless) as server:
        assert failure(server.url, **ARGUMENTS).kind == "bad_reply"


def test_an_answer_that_nobody_wanted_in_the_background_is_not_asked_again() -> None:
    with server_of([], QUEUED) as server:
        error = failure(server.url, endpoint="responses")
    assert error.kind == "bad_request"
    assert "background" in error.message


# --- calls that go on -----------------------------------------------------------------


def test_a_resumed_run_goes_on_with_the_answer(tmp_path: Path) -> None:
    with server_of([GOING] * 5 + [READY]) as server:
        with hour_passes_in_pause():
            begun = answers(server, tmp_path, "k", poll_seconds=HOUR)
        # the failure was journalled, which changes the key
        ended = answers(server, tmp_path, "another")
    assert begun == ["timeout"]
    assert ended == [""]
    assert posts(server) == 1
