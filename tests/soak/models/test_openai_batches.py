"""Batches that a later process finds, and batches for a small queue."""

from pathlib import Path

import pytest

from mmeval.model_backends.openai import batches
from mmeval.system import from_line
from tests.model_backends.openai.test_batches import ASKED, batched
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import request


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE", "RETRY_PAUSE"):
        monkeypatch.setattr(batches, name, 0.001)


def test_a_later_process_finds_its_batches_by_some_of_their_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_ROWS", 8)
    with MockServer() as server:
        batched(server.url, tmp_path)
        batched(server.url, tmp_path, ASKED[3:17])
        longer = batched(
            server.url, tmp_path, [*ASKED, *(request(f"more {i}") for i in range(2))]
        )
        sizes = [
            batch["request_counts"]["total"]
            for batch in server.state.batches.batches.values()
        ]
        batched(server.url, tmp_path / "another run")
        assert (sizes, len(server.state.batches.batches)) == ([8, 8, 4, 2], 7)
    assert all(one.error is None for one in longer)


@pytest.mark.parametrize(
    ("most", "sizes"), [(12, [12, 8, 4, 4]), (5, [12, 8, 6, 3, 3, 6, 3, 3, 4, 4])]
)
def test_what_is_too_large_for_the_queue_of_the_account_is_sent_in_halves_in_turn(
    most: int, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_ROWS", 12)
    with MockServer(batch_most=most) as server:
        found = batched(server.url, tmp_path)
        sent = [
            batch["request_counts"]["total"]
            for batch in server.state.batches.batches.values()
        ]
        assert ({one.error for one in found}, sent, server.stats()["repeated"]) == (
            {None},
            sizes,
            0,
        )
    assert sum(len(from_line(note.read_bytes())) for note in tmp_path.iterdir()) == 20
