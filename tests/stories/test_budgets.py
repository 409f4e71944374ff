"""Budgets from outside: whole runs against a server that counts, and what is said when the money is spent."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import at_work, mmeval, openai, results, run_folder, started
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


@pytest.mark.parametrize(
    ("flag", "limit", "made"),
    [("--budget_calls", "20", 20), ("--budget_tokens", "100", 20), ("--budget_usd", "0.1", 20)],
)
def test_at_the_limit_the_run_stops_keeps_what_was_answered_and_continues_with_more(
    flag: str, limit: str, made: int, server: MockServer, command: list[str], tmp_path: Path
) -> None:
    stopped = mmeval(*command, flag, limit)

    assert stopped.code == 3
    assert f"({flag} {limit}): {made} calls, 60 tokens in, 40 out, 0.10 USD" in stopped.error
    assert f"{made} of {COUNT} trials are made" in stopped.error
    assert (server.stats()["requests"], journalled(tmp_path / "runs")) == (made, made)

    done = mmeval(*command)

    assert done.code == 0, done.err
    assert (server.stats()["requests"], server.stats()["repeated"]) == (COUNT, 0)


def test_tries_that_fail_count_over_all_sessions(server: MockServer, command: list[str]) -> None:
    server.state.settings.rate_429, server.state.settings.retry_after = 0.4, 0.02

    for limit in (20, 40):
        stopped = mmeval(*command, "--budget_calls", str(limit))

        assert f"(--budget_calls {limit}): {limit} calls" in stopped.error
        assert server.stats()["requests"] == limit


def test_the_same_budget_again_sends_nothing(server: MockServer, command: list[str]) -> None:
    for _ in range(2):
        assert mmeval(*command, "--budget_calls", "20").code == 3

    assert server.stats()["requests"] == 20


def test_what_earlier_sessions_have_made_is_made_wherever_the_budget_stops_this_one(command: list[str]) -> None:
    assert mmeval(*command, "--offset", "30", "--limit", "20").code == 0

    assert f"20 of {COUNT} trials are made" in mmeval(*command, "--budget_calls", "20").error


def test_a_spent_budget_does_not_keep_a_finished_run_from_its_numbers(server: MockServer, command: list[str]) -> None:
    assert mmeval(*command, "--budget_calls", str(COUNT)).code == 0
    assert mmeval(*command, "--budget_calls", "1").code == 0

    assert server.stats()["requests"] == COUNT


def test_retries_count(command: list[str], server: MockServer) -> None:
    server.state.settings.rate_500 = 0.4

    stopped = mmeval(*command, "--budget_calls", "30")

    assert (stopped.code, server.stats()["requests"]) == (3, 30)
    assert server.stats()["answered"] < 30


def test_answers_in_flight_at_the_limit_are_kept(command: list[str], server: MockServer, tmp_path: Path) -> None:
    server.state.settings.latency, server.state.settings.jitter = 0.2, 0.19

    stopped = mmeval(*command, "--budget_calls", "25", "--max_connections", "16")

    assert stopped.code == 3
    assert (server.stats()["answered"], server.stats()["aborted"], journalled(tmp_path / "runs")) == (25, 0, 25)


def test_what_a_killed_run_has_spent_counts(command: list[str], server: MockServer, tmp_path: Path) -> None:
    server.state.settings.latency = 0.1
    with started(*command, "--max_connections", "4") as running:
        at_work(server, 12)
        running.signal(signal.SIGKILL)
        running.ended()
    kept = journalled(tmp_path / "runs")

    assert mmeval(*command, "--budget_calls", str(kept + 5)).code == 3
    assert journalled(tmp_path / "runs") == kept + 5


def test_an_unknown_price_is_refused_before_anything_is_sent(
    server: MockServer, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "prices.yaml").write_text("models: {}\n")

    refused = mmeval(*command, "--budget_usd", "1")

    assert (refused.code, server.stats()["requests"], (tmp_path / "runs").exists()) == (2, 0, False)
    line = refused.lines[-1]
    (tmp_path / "prices.yaml").write_text(f"models:\n{line}\n")
    assert mmeval(*command, "--budget_usd", "1").code == 0


def test_what_was_spent_stands_in_the_results_and_is_said(command: list[str], tmp_path: Path) -> None:
    done = mmeval(*command)

    counts = {"calls": COUNT, "input_tokens": 3 * COUNT, "output_tokens": 2 * COUNT, "images": 0}
    spent = results(tmp_path / "runs")["mmeval"]["spent"]
    assert spent == {"usd": 0.3, **counts, "by_role": [{"role": "model", "model": "m", "usd": 0.3, **counts}]}
    assert sum("60 calls, 180 tokens in, 120 out, 0.30 USD" in line for line in done.lines) == 1


def test_without_a_price_tokens_are_said_and_no_dollars(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models: {}\n")

    done = mmeval(*command)

    assert results(tmp_path / "runs")["mmeval"]["spent"]["usd"] is None
    assert any(line.endswith("60 calls, 180 tokens in, 120 out") for line in done.lines)


def test_answers_from_a_cache_cost_nothing(command: list[str], tmp_path: Path, server: MockServer) -> None:
    cache = ["--use_cache", str(tmp_path / "cache")]
    mmeval(*command, *cache)

    done = mmeval(*command, *cache, "--run_id", "again", "--budget_calls", "0")

    assert (done.code, server.stats()["requests"]) == (0, COUNT)
    assert json.dumps(results(tmp_path / "runs")["mmeval"]["spent"]["by_role"]) == "[]"
