"""Runs in processes of their own that are stopped by a signal."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK
from tests.support.cli import Running, mmeval_process, started, wait_for
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import asked_in
from tests.support.toy_site import toy_environment


class Runs:
    """Runs of the same command; the toy model takes ``delay`` seconds for an answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = toy_environment(folder / "site")
        self.tasks = write_benchmark(folder / "tasks", rows=12)

    def command(self, delay: float) -> list[str]:
        return [
            *("--tasks", "tiny", "--include_path", str(self.tasks), "--output_path", str(self.folder / "runs")),
            *("--model", "toy", "--model_args", f"delay={delay},log={self.folder / 'asked'}"),
            *("--max_connections", "2"),
        ]

    @contextmanager
    def start(self, delay: float) -> Iterator[Running]:
        with started(*self.command(delay), env=self.env) as running:
            yield running

    def journalled(self) -> int:
        return sum(file.read_bytes().count(b"\n") for file in self.folder.rglob("journal/*.jsonl"))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_stopped_run_keeps_every_answer_and_the_next_asks_the_rest(runs: Runs, number: signal.Signals) -> None:
    with runs.start(delay=0.15) as stopped:
        wait_for(lambda: runs.journalled() >= 2, "two answers")
        stopped.signal(number)
        ended = stopped.ended()
    asked = asked_in(runs.folder)
    assert (ended.code, runs.journalled()) == (EXIT_INTERRUPTED, len(asked))
    assert ended.lines[-1].startswith("stopped; ")
    second = mmeval_process(*runs.command(delay=0), env=runs.env)
    assert (second.code, second.err.startswith(f"kept {len(asked)} answers ")) == (EXIT_OK, True), second.err
    assert asked_in(runs.folder) == sorted(f"question {i}" for i in range(12))


def test_a_metric_at_work_does_not_keep_a_stopped_run_from_ending(runs: Runs) -> None:
    file = runs.folder / "tasks" / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_yes"))
    (runs.folder / "tasks" / "data" / "test.jsonl").write_text('{"id": "0", "input": "hang"}\n')
    with runs.start(delay=0) as stopped:
        wait_for(lambda: runs.journalled() == 1, "the answer")
        stopped.signal(signal.SIGINT)
        assert stopped.ended().code == EXIT_INTERRUPTED
