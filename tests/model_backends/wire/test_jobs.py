import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.records import Request, Response
from tests.support.engine import HOUR, hour_passes_in_pause, hour_passes_once
from tests.support.mock_openai_server import MP4
from tests.support.openai_calls import kind_of, request
from tests.support.servers import (
    Exchange,
    Reply,
    Scripted,
    ScriptedServer,
    WireServer,
    reply,
)

VIDEOS, JOB = "/v1/videos", "/v1/videos/v1"
CONTENT = f"{JOB}/content"
QUEUED = {"id": "v1", "status": "queued"}
UNDER_WAY = reply({"id": "v1", "status": "in_progress"})
DONE = reply({"id": "v1", "status": "completed"})
CLIP = Reply(MP4)
BUSY = reply({"error": {"message": "busy"}}, status=503)
LOST = reply({"error": {"message": "no such video"}}, status=404)


def failed_job(**error: str) -> Reply:
    return reply({"id": "v1", "status": "failed", "error": error})


def server_of(
    polls: Sequence[Reply] = (DONE,), contents: Sequence[Reply] = (CLIP,)
) -> WireServer:
    """A server that makes the job ``v1`` of each request."""
    return WireServer(
        Exchange(VIDEOS, [reply(QUEUED)]),
        Exchange(JOB, polls),
        Exchange(CONTENT, contents),
    )


def asked(key: str = "", seed: int = 7) -> Request:
    return request("a ball", wants=("video",)).with_seed(seed, key)


def backend_of(server: WireServer | ScriptedServer, **arguments: Any) -> OpenAIBackend:
    given = {"model": "m", "base_url": server.url, "endpoint": "videos"}
    return OpenAIBackend(**{**given, "poll_seconds": 0.01, "timeout": 20, **arguments})


def answers(
    server: WireServer | ScriptedServer,
    *requests: Request,
    notes: Path | None = None,
    **arguments: Any,
) -> list[Response]:
    """The answers of one backend to requests, one after the other."""

    async def run() -> list[Response]:
        backend = backend_of(server, **arguments)
        if notes is not None:
            backend.keep_notes_in(notes)
        try:
            return [await backend.generate(one) for one in requests]
        finally:
            await backend.close()

    return asyncio.run(run())


def answer(server: WireServer | ScriptedServer, **arguments: Any) -> Response:
    return answers(server, asked("k"), **arguments)[0]


def stopped(server: WireServer, notes: Path) -> None:
    """A call that is stopped once its job is polled."""

    async def run() -> None:
        backend = backend_of(server)
        backend.keep_notes_in(notes)
        call = asyncio.ensure_future(backend.generate(asked("k")))
        while f"GET {JOB}" not in server.asked:
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await backend.close()

    asyncio.run(run())


def posts(server: WireServer) -> int:
    return server.asked.count(f"POST {VIDEOS}")


# --- polls ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        BUSY,
        reply({}, status=429, headers={"Retry-After": "0"}),
        reply({"error": {"message": "bad gateway", "code": 502}}),
        Reply(b"{" * 100, sends=10),
        Reply(b"<html>please wait</html>"),
        LOST,
    ],
    ids=["503", "429", "in 200", "cut off", "a page", "known late"],
)
def test_a_fault_that_passes_is_polled_again_and_no_second_job_made(
    fault: Reply,
) -> None:
    with server_of([fault, fault, DONE]) as server:
        response = answer(server)
    assert response.error is None
    assert posts(server) == 1


@pytest.mark.parametrize(
    "fault",
    [BUSY, reply({}, status=429), Reply(MP4, sends=10), LOST],
    ids=["503", "429", "cut off", "known late"],
)
def test_a_result_is_fetched_again_after_a_fault(fault: Reply) -> None:
    with server_of(contents=[fault, fault, CLIP]) as server:
        response = answer(server)
    assert response.error is None
    assert posts(server) == 1


def test_a_result_that_comes_late_is_waited_for() -> None:
    late = reply({"detail": "Generation is still in-progress"}, status=404)
    with server_of(contents=[late] * 6 + [CLIP]) as server:
        response = answer(server)
    assert response.error is None
    assert posts(server) == 1


@pytest.mark.parametrize(
    ("polls", "contents", "kind"),
    [
        ([failed_job(code="server_error", message="out of memory")], [], "server"),
        ([reply({"id": "v1", "status": "cancelled"})], [], "server"),
        ([DONE], [reply({"detail": "generation failed"}, status=422)], "server"),
        ([LOST], [], "server"),
        ([DONE], [reply({"detail": "no such video"}, status=404)], "server"),
        ([reply({"error": {"message": "no"}}, status=401)], [], "auth"),
    ],
    ids=["failed", "cancelled", "422", "unknown", "no content", "key"],
)
def test_a_job_without_a_result_is_an_error(
    polls: list[Reply], contents: list[Reply], kind: str
) -> None:
    with server_of(polls, contents or [CLIP]) as server:
        response = answer(server)
    assert kind_of(response) == kind


@pytest.mark.parametrize(
    "code", ["moderation_blocked", "content_policy_violation", "sensitive"]
)
def test_a_job_that_moderation_ends_is_refused(code: str) -> None:
    with server_of([failed_job(code=code, message="Your request was blocked.")]) as one:
        response = answer(one)
    assert response.is_refused
    assert response.output is not None
    assert response.output.parts == ()


def test_a_failed_job_may_state_its_error_at_the_top() -> None:
    failed = reply({"id": "v1", "status": "error", "message": "out of memory"})
    with server_of([failed]) as server:
        response = answer(server)
    assert response.error is not None
    assert "out of memory" in response.error.message


def test_an_error_in_place_of_a_job_is_read() -> None:
    error = {"code": "moderation_blocked", "message": "blocked"}
    with WireServer(
        Exchange(VIDEOS, [reply({"status": "failed", "error": error})])
    ) as server:
        assert answer(server).is_refused


@pytest.mark.parametrize(
    "posted",
    [
        reply({"status": "queued"}),
        reply({"id": "x" * 9999, "status": "queued"}),
        reply({"id": "", "status": "queued"}),
        Reply(b"no JSON"),
    ],
    ids=["no id", "long id", "empty id", "no JSON"],
)
def test_a_reply_that_is_no_job_is_an_error(posted: Reply) -> None:
    with WireServer(Exchange(VIDEOS, [posted])) as server:
        assert kind_of(answer(server)) == "bad_reply"


def test_an_id_cannot_lead_to_another_path() -> None:
    posted = reply({"id": "../files/1?x", "status": "queued"})
    with WireServer(Exchange(VIDEOS, [posted])) as server:
        answer(server)
    assert set(server.asked[1:]) == {"GET /v1/videos/..%2Ffiles%2F1%3Fx"}


def test_the_time_of_a_call_is_that_of_its_job() -> None:
    with server_of([UNDER_WAY] * 5 + [DONE]) as server:
        response = answer(server, poll_seconds=0.05)
    assert response.latency > 0.25


# --- calls that go on -----------------------------------------------------------------


def test_a_job_that_outlasts_its_call_is_polled_by_the_next_try() -> None:
    with server_of([UNDER_WAY, DONE]) as server, hour_passes_in_pause():
        first, second = answers(server, *[asked("k")] * 2, poll_seconds=HOUR)
    assert kind_of(first) == "timeout"
    assert kind_of(second) == ""
    assert posts(server) == 1


def test_without_a_job_no_next_try_is_promised_one() -> None:
    with (
        ScriptedServer(Scripted(b"{}", cut=1, linger=HOUR)) as server,
        hour_passes_once(lambda: bool(server.seen)),
    ):
        response = answer(server)
    assert response.error is not None
    assert response.error.kind == "timeout"
    assert "goes on with it" not in response.error.message


def test_a_resumed_run_goes_on_with_the_job(tmp_path: Path) -> None:
    with server_of([UNDER_WAY] * 9 + [DONE]) as server:
        stopped(server, tmp_path)
        # a failure that is journalled changes the key
        [ended] = answers(server, asked("another"), notes=tmp_path)
    assert kind_of(ended) == ""
    assert posts(server) == 1


def test_an_answer_that_is_lost_before_it_is_journalled_costs_no_second_job(
    tmp_path: Path,
) -> None:
    with server_of() as server:
        responses = [answer(server, notes=tmp_path) for _ in range(2)]
    assert [kind_of(response) for response in responses] == ["", ""]
    assert posts(server) == 1


def test_a_job_that_has_answered_serves_no_other_call(tmp_path: Path) -> None:
    with server_of() as server:
        answers(server, asked("a"), asked("b"), notes=tmp_path)
    assert posts(server) == 2


def test_calls_with_other_seeds_have_jobs_of_their_own(tmp_path: Path) -> None:
    with server_of() as server:
        draws = [asked("a", seed=1), asked("b", seed=2)]
        answers(server, *draws, notes=tmp_path)
    assert posts(server) == 2


def test_another_run_makes_another_job(tmp_path: Path) -> None:
    with server_of() as server:
        for name in ("a", "b"):
            answer(server, notes=tmp_path / name)
    assert posts(server) == 2


@pytest.mark.parametrize(
    "end", [failed_job(message="out of memory"), LOST], ids=["failed", "unknown"]
)
def test_after_a_job_that_has_failed_another_one_is_made(
    end: Reply, tmp_path: Path
) -> None:
    with server_of([UNDER_WAY, end, end, end, DONE]) as server:
        answers(server, *[asked("k")] * 4, notes=tmp_path)
    assert posts(server) > 1
    assert server.asked[-1] == f"GET {CONTENT}"


def test_a_result_that_cannot_be_read_leads_to_another_job(tmp_path: Path) -> None:
    with server_of(contents=[Reply(b"words"), CLIP]) as server:
        first, second = answers(server, asked("a"), asked("b"), notes=tmp_path)
    assert kind_of(first) == "bad_reply"
    assert kind_of(second) == ""
    assert posts(server) == 2


def test_after_an_error_in_place_of_a_result_the_next_try_fetches_it() -> None:
    busy = reply({"error": {"message": "storage is busy", "code": 503}})
    with server_of(contents=[busy, CLIP]) as server:
        first, second = answers(server, asked("k"), asked("k"))
    assert kind_of(first) == "server"
    assert kind_of(second) == ""
    assert posts(server) == 1


def test_a_result_above_the_limit_is_fetched_again_and_not_paid_again(
    tmp_path: Path,
) -> None:
    with server_of() as server:
        small = answer(server, notes=tmp_path, max_reply_bytes=500)
        large = answer(server, notes=tmp_path)
    assert kind_of(small) == "bad_reply"
    assert kind_of(large) == ""
    assert posts(server) == 1


def test_a_job_of_a_server_that_is_asked_no_more_is_asked_for_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with server_of([UNDER_WAY]) as before, server_of() as after:
        stopped(before, tmp_path)
        response = answer(after, notes=tmp_path)
    assert response.error is None
    assert posts(after) == 1
    assert len(caplog.records) == 1


def test_a_job_is_polled_at_the_replica_that_has_it() -> None:
    with server_of() as one, server_of() as other:
        answers(one, asked("a"), asked("b"), replicas=other.url)
    assert [server.count for server in (one, other)] == [3, 3]


def test_equal_calls_at_once_share_a_job(tmp_path: Path) -> None:
    async def both(server: WireServer) -> None:
        backend = backend_of(server)
        backend.keep_notes_in(tmp_path)
        try:
            await asyncio.gather(*(backend.generate(asked(key)) for key in "ab"))
        finally:
            await backend.close()

    with server_of([UNDER_WAY, UNDER_WAY, DONE]) as server:
        asyncio.run(both(server))
    assert posts(server) == 1


def test_a_damaged_note_ends_the_run(tmp_path: Path) -> None:
    with server_of([UNDER_WAY]) as server:
        stopped(server, tmp_path)
        [note] = tmp_path.iterdir()
        note.write_text("{")
        with pytest.raises(StorageError, match=note.name):
            answer(server, notes=tmp_path)
    assert posts(server) == 1


def test_a_note_holds_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "key-0123456789-abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    job = {**QUEUED, "polling_url": f"/v1/jobs?key={key}"}
    with WireServer(Exchange(VIDEOS, [reply(job)])) as server:
        answer(server, notes=tmp_path)
        answer(server, notes=tmp_path, timeout=0.1)
    assert not any(key in note.read_text() for note in tmp_path.iterdir())


def test_a_closed_backend_polls_no_more() -> None:
    closed: list[OpenAIBackend] = []

    async def close_early(server: WireServer) -> Response:
        backend = backend_of(server, poll_seconds=HOUR, timeout=2 * HOUR)
        call = asyncio.ensure_future(backend.generate(asked("k")))
        while server.count < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # between two polls
        await backend.close()
        closed.append(backend)
        return await call

    with server_of([UNDER_WAY]) as server, hour_passes_once(lambda: bool(closed)):
        response = asyncio.run(close_early(server))
    assert kind_of(response) == "connection"
    assert server.count == 2


def test_a_poll_without_an_end_is_given_up() -> None:
    ended = {"id": "v1", "status": "completed"}
    script = (
        Scripted(QUEUED),
        Scripted(ended, cut=5, linger=HOUR),
        Scripted(ended),
        Scripted(MP4),
    )
    with (
        ScriptedServer(*script) as server,
        hour_passes_once(lambda: len(server.seen) >= 2),
    ):
        assert answer(server, timeout=2 * HOUR).error is None


def test_a_lost_connection_to_a_server_of_ones_own_ends_the_call_and_not_the_job(
    tmp_path: Path,
) -> None:
    class OwnServer(OpenAIBackend):
        jobs_outlast = False

    async def run(url: str) -> list[Response]:
        backend = OwnServer(
            model="m", base_url=url, endpoint="videos", poll_seconds=0.01, timeout=20
        )
        backend.keep_notes_in(tmp_path)
        try:
            return [await backend.generate(asked("k")) for _ in range(2)]
        finally:
            await backend.close()

    with server_of([Reply(b"{" * 99, sends=9), DONE]) as server:
        first, second = asyncio.run(run(server.url))
    assert kind_of(first) == "connection"
    assert kind_of(second) == ""
    assert posts(server) == 1


def test_a_note_states_what_it_takes_to_go_on(tmp_path: Path) -> None:
    with server_of() as server:
        answer(server, notes=tmp_path)
        [note] = tmp_path.iterdir()
    assert json.loads(note.read_text()) == {
        "id": "v1",
        "base_url": server.url,
        "polling_url": "",
        "key": "k",
    }
