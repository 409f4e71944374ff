"""Budgets from outside: whole runs against a server that counts, and what is said when the money is spent."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import at_work, mmeval_process, openai, run_folder, started
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions

COUNT = 60
PRICES = "models:\n  m: {input: 1000, output: 1000}\n"


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(reply="said") as running:
        yield running


@pytest.fixture
def command(server: MockServer, tmp_path: Path) -> list[str]:
    """Sixty questions, each of which takes three tokens in and two out."""
    write_questions(tmp_path / "tasks", "ask", range(10, 10 + COUNT))
    (tmp_path / "prices.yaml").write_text(PRICES)
    places = ["--include_path", str(tmp_path / "tasks"), "--output_path", str(tmp_path / "runs")]
    return ["--tasks", "ask", *places, *openai(server), "--model_cost_config", str(tmp_path / "prices.yaml")]


def journalled(folder: Path) -> int:
    return sum(len(file.read_bytes().splitlines()) for file in (run_folder(folder) / "journal").glob("*.jsonl"))


def test_retries_count(command: list[str], server: MockServer) -> None:
    server.state.settings.rate_500 = 0.4

    stopped = mmeval_process(*command, "--budget_calls", "30")

    assert (stopped.code, server.stats()["requests"]) == (3, 30)
    assert server.stats()["answered"] < 30


def test_answers_in_flight_at_the_limit_are_kept(command: list[str], server: MockServer, tmp_path: Path) -> None:
    server.state.settings.latency, server.state.settings.jitter = 0.2, 0.19

    stopped = mmeval_process(*command, "--budget_calls", "25", "--max_connections", "16")

    assert stopped.code == 3
    assert (server.stats()["answered"], server.stats()["aborted"], journalled(tmp_path / "runs")) == (25, 0, 25)


def test_what_a_killed_run_has_spent_counts(command: list[str], server: MockServer, tmp_path: Path) -> None:
    server.state.settings.latency = 0.1
    with started(*command, "--max_connections", "4") as running:
        at_work(server, 12)
        running.signal(signal.SIGKILL)
        running.ended()
    kept = journalled(tmp_path / "runs")

    assert mmeval_process(*command, "--budget_calls", str(kept + 5)).code == 3
    assert journalled(tmp_path / "runs") == kept + 5
