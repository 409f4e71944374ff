"""The backends over the stand-in: real processes, real sockets."""

import asyncio
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.backend.contract import LocalWork, Loggable, Startable
from mmeval.backend.create import create_backend
from mmeval.errors import BackendDownError, MissingDataError, MmevalError, UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.servers import SGLangBackend, VLLMBackend
from mmeval.model_backends.servers.backend import ServerBackend
from mmeval.model_backends.servers.programs import HOST
from mmeval.model_backends.servers.server import Server
from mmeval.records import Response
from mmeval.run.costs.prices import is_billed
from tests.support.backend_runs import STAND_IN, ServerRuns
from tests.support.cli import DEADLINE, gone, wait_for
from tests.support.openai_calls import request

COMMAND = [sys.executable, str(STAND_IN)]


StandIn = Callable[..., AbstractContextManager[tuple[ServerBackend, ServerRuns]]]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A backend whose server misbehaves so; no process is left of it."""

    @contextmanager
    def made(
        fault: str = "", kind: type[ServerBackend] = VLLMBackend, **args: Any
    ) -> Iterator[tuple[ServerBackend, ServerRuns]]:
        runs = ServerRuns(tmp_path, [], fault)
        for name in ("STAND_IN_FAULT", "STAND_IN_NOTES"):
            monkeypatch.setenv(name, runs.environment[name])
        yield kind(pretrained="org/m", command=COMMAND, **args), runs
        assert gone(runs.processes())

    return made


def ask(backend: ServerBackend, *words: str) -> list[Response]:
    async def run() -> list[Response]:
        try:
            return await asyncio.gather(
                *(backend.generate(request(word)) for word in words)
            )
        finally:
            await backend.close()

    return asyncio.run(run())


@pytest.mark.parametrize("kind", [VLLMBackend, SGLangBackend])
def test_the_server_is_started_with_the_first_call_and_asked(
    kind: type[ServerBackend], tmp_path: Path, stand_in: StandIn
) -> None:
    with stand_in(kind=kind, tensor_parallel_size=2) as (backend, runs):
        log = tmp_path / "workers" / "model-1.log"
        backend.log_into(log)
        assert runs.starts() == []
        found = ask(backend, "one", "two")
        assert [response.text for response in found] == ["one", "two"]
        assert {response.fingerprint for response in found} == {
            f"{backend.server_program.name} 0.0.stand-in"
        }
        ((_, model, flags),) = runs.starts()
        assert model == "org/m"
        assert "--tensor-parallel-size 2" in " ".join(flags)
        assert "loading org/m" in log.read_text()


def test_the_server_gets_no_key(
    monkeypatch: pytest.MonkeyPatch, stand_in: StandIn
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of another server")
    with stand_in() as (backend, runs):
        assert ask(backend, "one")[0].text == "one"
        assert runs.noted("keys") == [""]


def test_another_program_that_answers_at_its_port_is_not_taken_for_it() -> None:
    def at_once(port: int) -> list[str]:
        others.append(HTTPServer((HOST, port), Healthy))
        threading.Thread(target=others[0].serve_forever).start()
        return ["/bin/false"]

    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    others: list[HTTPServer] = []
    server = Server("the server", at_once, None)
    while not server.is_dead():
        pass
    with pytest.raises(
        MmevalError, match="the server ended by itself with exit status 1"
    ):
        server.wait_until_healthy(5)
    others[0].shutdown()
    others[0].server_close()


def test_a_backend_that_was_closed_starts_its_server_again(stand_in: StandIn) -> None:
    with stand_in() as (backend, runs):
        assert ask(backend, "one")[0].text == "one"
        assert ask(backend, "two")[0].text == "two"
        assert len(runs.starts()) == 2


def test_a_server_that_is_killed_between_two_calls_is_started_again(
    stand_in: StandIn,
) -> None:
    async def run(backend: ServerBackend, runs: ServerRuns) -> list[Response]:
        try:
            first = await backend.generate(request("one"))
            os.kill(runs.starts()[0][0], signal.SIGKILL)
            assert await asyncio.to_thread(gone, {runs.starts()[0][0]})
            return [
                first,
                *await asyncio.gather(
                    *(backend.generate(request(f"q{i}")) for i in range(4))
                ),
            ]
        finally:
            await backend.close()

    with stand_in() as (backend, runs):
        assert [response.text for response in asyncio.run(run(backend, runs))] == [
            "one",
            "q0",
            "q1",
            "q2",
            "q3",
        ]
        assert len(runs.starts()) == 2
        assert sorted(runs.noted("asked")) == ["one", "q0", "q1", "q2", "q3"]


def test_the_calls_that_a_dead_server_had_are_asked_again_at_once(
    stand_in: StandIn,
) -> None:
    async def run(backend: ServerBackend, runs: ServerRuns) -> None:
        calls = [
            asyncio.create_task(backend.generate(request(f"q{i}"))) for i in range(6)
        ]
        await asyncio.to_thread(
            wait_for, lambda: len(runs.noted("asked")) == 6, "the calls"
        )
        os.kill(runs.starts()[0][0], signal.SIGKILL)
        await asyncio.to_thread(
            wait_for, lambda: len(runs.noted("asked")) == 12, "the calls again"
        )
        for call in calls:
            call.cancel()
        await backend.close()

    with stand_in("holds") as (backend, runs):
        asyncio.run(run(backend, runs))
        assert len(runs.starts()) == 2


def test_a_video_that_a_dead_server_was_making_is_asked_for_anew(
    stand_in: StandIn, tmp_path: Path
) -> None:
    async def run(backend: ServerBackend, runs: ServerRuns) -> Response:
        backend.keep_notes_in(tmp_path / "jobs")
        call = asyncio.create_task(backend.generate(request("q", wants=("video",))))
        noted = lambda: any((tmp_path / "jobs").glob("*.json"))  # noqa: E731
        await asyncio.to_thread(wait_for, noted, "the job")
        os.kill(runs.starts()[0][0], signal.SIGKILL)
        try:
            return await call
        finally:
            await backend.close()

    videos = {"endpoint": "videos", "poll_seconds": 0.2, "timeout": 60}
    with stand_in("polls 10", **videos) as (backend, runs):
        response = asyncio.run(run(backend, runs))
        assert response.error is None
        assert len(runs.starts()) == 2
        assert runs.noted("asked") == ["/v1/videos"] * 2


def test_a_server_that_dies_again_and_again_ends_it_for_every_call(
    monkeypatch: pytest.MonkeyPatch, stand_in: StandIn
) -> None:
    monkeypatch.setattr("mmeval.model_backends.servers.restarting.DEATHS_IN_A_ROW", 3)
    with (
        stand_in("deadly") as (backend, runs),
        pytest.raises(BackendDownError, match="3 times in a row") as caught,
    ):
        ask(backend, "deadly 1", "deadly 2")
    assert "the last words" in str(caught.value)
    assert len(runs.starts()) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("unhealthy", r"not healthy after 3 seconds.*\(load_timeout\).*loading org/m"),
        (
            "memory",
            r"exit status 1 before it could answer; it wrote: .*CUDA out of "
            r"memory.*max_model_len",
        ),
        (
            "no module",
            r"exit status 1 before it could answer; the last it wrote: .*No module "
            r"named 'sglang'",
        ),
    ],
)
def test_a_server_that_cannot_answer_says_why(
    fault: str,
    words: str,
    tmp_path: Path,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / "model-1.log"

    def monotonic() -> float:
        """Stands still until the server is loading, and is hours later then."""
        loads = log.exists() and b"loading org/m" in log.read_bytes()
        return 9000.0 if loads else 0.0

    if fault == "unhealthy":
        clock = SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
        monkeypatch.setattr("mmeval.model_backends.servers.server.time", clock)
    seconds = 3 if fault == "unhealthy" else DEADLINE
    with stand_in(fault, load_timeout=seconds) as (backend, runs):
        backend.log_into(log)
        with pytest.raises(MmevalError, match=words) as caught:
            ask(backend, "one")
        assert str(log) in str(caught.value)
        assert len(runs.starts()) == 1


def test_a_server_that_does_not_end_by_itself_is_killed(
    monkeypatch: pytest.MonkeyPatch, stand_in: StandIn
) -> None:
    monkeypatch.setattr("mmeval.model_backends.servers.server.END_SECONDS", 0.2)
    with stand_in("stubborn") as (backend, _runs):
        assert ask(backend, "one")[0].text == "one"


def backend(**args: Any) -> VLLMBackend:
    return VLLMBackend(**{"pretrained": "org/m", "command": COMMAND, **args})


def test_the_identity_is_the_model_and_not_where_it_runs(tmp_path: Path) -> None:
    usual = backend().identity
    assert usual["backend"] == "vllm"
    assert usual["model"] == "org/m"
    assert "base_url" not in usual
    elsewhere: list[dict[str, Any]] = [
        {"tensor_parallel_size": 2},
        {"data_parallel_size": 2},
        {"gpu_memory_utilization": 0.5},
        {"command": [sys.executable]},
        {"load_timeout": 5},
        {"trust_remote_code": True},
        {"timeout": 5},
        {"server_args": {"max-num-seqs": 8}},
    ]
    assert [backend(**args).identity == usual for args in elsewhere] == [True] * len(
        elsewhere
    )
    other: list[dict[str, Any]] = [
        {"revision": "2"},
        {"dtype": "half"},
        {"quantization": "fp8"},
        {"max_model_len": 9},
        {"omni": True},
        {"server_args": {"kv_cache_dtype": "fp8"}},
        {"send_seed": False},
        {"pretrained": "org/n"},
    ]
    assert [backend(**args).identity == usual for args in other] == [False] * len(other)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text("{}")
    mine = backend(pretrained=str(tmp_path / "m")).identity
    (tmp_path / "m" / "config.json").write_text("{ }")
    changed = backend(pretrained=str(tmp_path / "m")).identity
    assert mine["model"] == "m"
    assert mine["weights"] != changed["weights"]


def test_they_take_the_arguments_of_openai_but_those_of_a_server_elsewhere() -> None:
    of_openai, ours = (
        set(inspect.signature(kind).parameters) for kind in (OpenAIBackend, VLLMBackend)
    )
    assert of_openai - ours == {
        "model",
        "base_url",
        "replicas",
        "api_key_file",
        "organization",
        "project",
        "extra_headers_file",
        "api_key_header",
        "query",
        "images_dialect",
        "image_tool",
        "state",
        "videos_dialect",
        "batch",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"tensor_parallel_size": 0},
        {"gpu_memory_utilization": 2},
        {"load_timeout": 0},
        {"max_model_len": -1},
        {"server_args": "x"},
        {"server_args": {"port": 1}},
        {"pretrained": ""},
        {"pretrained": "./not/here"},
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((UsageError, MissingDataError), match=next(iter(wrong))):
        create_backend("vllm", {"pretrained": "org/m", "command": COMMAND, **wrong})


def test_its_calls_cost_nothing_and_are_as_many_as_of_any_server() -> None:
    one = backend()
    assert isinstance(one, Startable)
    assert isinstance(one, Loggable)
    assert isinstance(one, LocalWork)
    assert is_billed(one) is False
    assert one.usual_connections == 0
