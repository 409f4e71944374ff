import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.broker import server_batcher
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import (
    BackendDownError,
    KeyRefusedError,
    MissingExtraError,
    StorageError,
    UsageError,
)
from mmeval.model_backends.openai import OpenAIBackend, batches
from mmeval.records import Request, Response
from mmeval.store.call_context import CallContext
from mmeval.system import to_line
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import MP4, generate_all, medium, request

ASKED = [request(f"question {i}", seed=i) for i in range(20)]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE", "RETRY_PAUSE"):
        monkeypatch.setattr(batches, name, 0.001)


def batched(
    url: str, notes: Path, asked: Sequence[Request] = ASKED, **arguments: Any
) -> list[Response]:
    """The responses of one call, each of which came exactly once."""
    found: dict[int, Response] = {}

    def deliver(position: int, response: Response) -> None:
        assert position not in found
        found[position] = response

    async def run() -> None:
        backend = OpenAIBackend(
            **{"model": "m", "base_url": url, "batch": True, **arguments}
        )
        assert backend.batches is not None
        await backend.batches.answer(asked, notes, deliver, lambda _text: None)

    asyncio.run(run())
    return [found[position] for position in range(len(asked))]


def test_a_batch_gives_the_answers_of_single_requests_and_marks_their_cost(
    tmp_path: Path,
) -> None:
    asked = [*ASKED, ASKED[3]]
    with MockServer(batch_looks=3) as server:
        found = batched(server.url, tmp_path, asked)
        stats = server.stats()
        alone = generate_all(server.url, asked)
        [batch] = server.state.batches.batches.values()
        [note] = tmp_path.iterdir()
    assert [one.output for one in found] == [one.output for one in alone]
    assert [one.usage.input_tokens for one in found] == [
        one.usage.input_tokens for one in alone
    ]
    assert {one.usage.batched for one in found} == {True}
    assert stats["requests"] == 20
    assert stats["repeated"] == 0
    assert batch["endpoint"] == "/v1/chat/completions"
    assert batch["metadata"] == {"mmeval": note.stem}


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ({"rate_batch_error": 0.5}, "server"),
        ({"rate_batch_missing": 0.5}, "server"),
        ({"batch_end": "expired"}, "server"),
        ({"batch_end": "cancelled"}, "no_answer"),
    ],
)
def test_what_a_batch_leaves_out_fails_alone(
    trouble: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    with MockServer(**trouble) as server:
        found = batched(server.url, tmp_path)
    kinds = [one.error.kind for one in found if one.error is not None]
    assert set(kinds) == {kind}
    assert 4 < len(kinds) < 16


def test_two_judges_of_a_run_folder_get_answers_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_batcher, "QUIET", 0.01)

    async def served(model: str) -> set[str]:
        backend = OpenAIBackend(model=model, base_url=server.url, batch=True)
        role = BackendRuntime(
            backend, limit=1, retries=0, live=lambda: 2, notes=tmp_path
        )
        found = await asyncio.gather(
            *(role.ask(one, CallContext(f"t{i}")) for i, one in enumerate(ASKED[:2]))
        )
        await role.close()
        return {response.served for response, _ in found}

    with MockServer() as server:
        assert [asyncio.run(served(model)) for model in ("a", "b", "a")] == [
            {"a"},
            {"b"},
            {"a"},
        ]
        assert len(server.state.batches.batches) == 2


def test_one_request_and_one_that_cannot_be_encoded_stay_out_of_a_batch(
    tmp_path: Path,
) -> None:
    with MockServer() as server:
        [alone] = batched(server.url, tmp_path, ASKED[:1])
        *sound, unsendable = batched(
            server.url, tmp_path, [*ASKED[:2], request(medium(MP4))]
        )
        [batch] = server.state.batches.batches.values()
    assert alone.error is not None and unsendable.error is not None
    assert alone.error.kind == "server"
    assert unsendable.error.kind == "unsupported"
    assert [one.error for one in sound] == [None] * 2
    assert batch["request_counts"]["total"] == 2


def test_a_batch_that_the_server_refuses_ends_the_run_and_is_not_found_again(
    tmp_path: Path,
) -> None:
    with (
        MockServer(batch_end="failed") as server,
        pytest.raises(BackendDownError, match="no such model"),
    ):
        batched(server.url, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, BackendDownError), (401, KeyRefusedError), (500, BackendDownError)],
)
def test_a_server_that_takes_no_batches_ends_the_run(
    status: int, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PATIENCE", 0.01)
    with MockServer(batch_status=status) as server, pytest.raises(error):
        batched(server.url, tmp_path)


def test_a_server_that_hangs_up_at_every_step_gets_each_request_once(
    tmp_path: Path,
) -> None:
    with MockServer() as server:
        seen: set[str] = set()

        def stumble(step: str) -> None:
            if step not in seen:
                seen.add(step)
                server.hang_up()

        server.state.batches.on_step = stumble
        assert all(one.error is None for one in batched(server.url, tmp_path))
        assert server.stats()["requests"] == 20
        assert len(server.state.batches.batches) == 1
        assert len(seen) == 6


def test_results_that_the_server_has_removed_are_asked_for_alone_and_a_damaged_note_is_named(
    tmp_path: Path,
) -> None:
    with MockServer() as server:
        batched(server.url, tmp_path)
        server.state.batches.contents.clear()
        assert {
            one.error and one.error.kind for one in batched(server.url, tmp_path)
        } == {"server"}
        [note] = tmp_path.iterdir()
        for damage in (b'["tor', b"", b"7"):
            note.write_bytes(damage)
            with pytest.raises(StorageError, match=note.name):
                batched(server.url, tmp_path)


def test_hostile_results_leave_their_requests_without_an_answer(tmp_path: Path) -> None:
    name = f"{ASKED[0].digest}-{ASKED[0].seed}"
    rows: list[Any] = [
        None,
        5,
        [],
        {},
        {"custom_id": []},
        {"custom_id": "?", "response": {"status_code": 200, "body": {}}},
        {"custom_id": name, "response": 7},
        {"custom_id": name, "response": {"status_code": "many", "body": {}}},
        {"custom_id": name, "error": ["odd"]},
    ]
    with MockServer() as server:
        held = server.state.batches
        held.on_step = lambda _: held.contents.update(
            {"file-1": b"\n".join(map(to_line, rows)) + b"\n{torn"}
        )
        found = batched(server.url, tmp_path)
    assert [one.error.kind for one in found if one.error is not None] == ["server"] * 20


def test_batches_are_no_part_of_the_identity_and_need_chat_and_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local: dict[str, Any] = {"model": "m", "base_url": "http://localhost:8000/v1"}
    backend = OpenAIBackend(**local, endpoint="auto", outputs="text+image", batch=True)
    assert (
        backend.identity
        == OpenAIBackend(**local, endpoint="auto", outputs="text+image").identity
    )
    assert backend.batches is not None
    assert [
        backend.batches.takes(request(wants=wants)) for wants in (("text",), ("image",))
    ] == [True, False]
    with pytest.raises(UsageError):
        OpenAIBackend(**local, endpoint="speech", batch=True)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError):
        OpenAIBackend(**local, batch=True)


@pytest.mark.parametrize("completed", [10**30, -1, "many", None])
def test_a_count_that_cannot_be_of_a_batch_is_reported_as_none(
    completed: object,
) -> None:
    counts = SimpleNamespace(completed=completed)
    batch = SimpleNamespace(id="b", request_counts=counts)
    assert batches.progress_of(batch, 12) == "batch b, 0 of 12 answered"
