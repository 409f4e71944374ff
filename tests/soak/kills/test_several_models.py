"""Several models in one command, which is killed or stopped at work: the same command
asks only what is missing."""

import signal
from pathlib import Path

import pytest
import yaml

from tests.support.cli import (
    DEADLINE,
    kept_answers,
    mmeval_process,
    results,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions

COUNT = 12


def command(folder: Path, server: MockServer) -> list[str]:
    """The command that runs two models of a server on twelve questions."""
    write_questions(folder / "tasks", "ask", range(COUNT))
    entries = []
    for name in ("a", "b"):
        arguments = {"base_url": server.url, "model": name}
        entries.append({"name": name, "model": "openai", "model_args": arguments})
    config = {
        "tasks": "ask",
        "include_path": [str(folder / "tasks")],
        "output_path": str(folder / "runs"),
        "max_connections": 2,
        "score_workers": 0,
        "report": False,
        "models": entries,
    }
    file = folder / "models.yaml"
    file.write_text(yaml.safe_dump(config))
    return ["run", "--config", str(file)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_after_a_kill_the_same_command_asks_only_what_is_missing(
    jobs: str, tmp_path: Path
) -> None:
    with MockServer(hold_after=COUNT + 5) as server:
        run = [*command(tmp_path, server), "--jobs", jobs]
        with started(*run) as running:
            wait_for(lambda: bool(server.state.held), "a request in flight")
            running.signal(signal.SIGKILL)
            assert running.process.wait(DEADLINE) == -9
        kept = kept_answers(tmp_path)
        server.let_go()
        sent = server.stats()["requests"]

        done = mmeval_process(*run)

        assert done.code == 0, done.err
        assert server.stats()["requests"] - sent == 2 * COUNT - kept
    for name in ("a", "b"):
        (number,) = results(tmp_path / "runs" / name)["mmeval"]["results"]
        assert number["n"] == COUNT


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_models_and_keeps_every_answer(
    number: signal.Signals, jobs: str, tmp_path: Path
) -> None:
    with MockServer(hold_after=5) as server:
        run = [*command(tmp_path, server), "--jobs", jobs]
        at_once = 2 * int(jobs)
        with started(*run) as running:
            wait_for(lambda: len(server.state.held) == at_once, "requests in flight")
            running.signal(number)
            running.read_until("in flight")
            server.let_go()
            ended = running.ended()
        assert ended.code == 130
        assert kept_answers(tmp_path) == server.stats()["answered"] == 5 + at_once
