"""Runs in processes of their own that are stopped by a signal."""

import signal
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK
from tests.support.cli import mmeval_process, started, wait_for
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import asked_in
from tests.support.toy_site import toy_environment


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A run of twelve questions to a toy model that takes a moment for each."""
    tasks = write_benchmark(tmp_path / "tasks", rows=12)
    return [
        *("--tasks", "tiny", "--include_path", str(tasks), "--output_path", str(tmp_path / "runs")),
        *("--model", "toy", "--model_args", f"delay=0.1,log={tmp_path / 'asked'}", "--max_connections", "2"),
    ]


def journalled(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in folder.rglob("journal/*.jsonl"))


def test_a_terminated_run_keeps_every_answer_and_the_next_asks_the_rest(tmp_path: Path, command: list[str]) -> None:
    env = toy_environment(tmp_path / "site")
    with started(*command, env=env) as running:
        wait_for(lambda: journalled(tmp_path) >= 2, "two answers")
        running.signal(signal.SIGTERM)
        ended = running.ended()
    asked = asked_in(tmp_path)
    assert (ended.code, journalled(tmp_path)) == (EXIT_INTERRUPTED, len(asked))
    second = mmeval_process(*command, env=env)
    assert (second.code, second.err.startswith(f"kept {len(asked)} answers ")) == (EXIT_OK, True), second.err
    assert asked_in(tmp_path) == sorted(f"question {i}" for i in range(12))


def test_a_metric_at_work_does_not_keep_a_stopped_run_from_ending(tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "tasks" / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_yes"))
    (tmp_path / "tasks" / "data" / "test.jsonl").write_text('{"id": "0", "input": "hang"}\n')
    with started(*command, env=toy_environment(tmp_path / "site")) as running:
        wait_for(lambda: journalled(tmp_path) == 1, "the answer")
        running.signal(signal.SIGINT)
        assert running.ended().code == EXIT_INTERRUPTED
