"""Runs with worker processes that are killed, stopped and started again: nothing that
was answered is asked twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import (
    DEADLINE,
    ROOT,
    Ended,
    gone,
    mmeval_process,
    results,
    started,
    wait_for,
)
from tests.support.parallel import answered, notes
from tests.support.questions import toy_environment, write_task

ROWS = 16
QUESTIONS = sorted(f"question {i}" for i in range(ROWS))


class Runs:
    """Runs of one command by two copies of the toy model, each in a process of its
    own."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder = folder
        self.env = toy_environment(folder / "site")
        rows = (
            {"id": str(i), "input": f"{prefix}question {i}", "reference": f"answer {i}"}
            for i in range(ROWS)
        )
        self.tasks = write_task(folder / "tasks", "tiny", rows)

    def command(self, **args: object) -> list[str]:
        given = {"folder": self.folder, "copies": 2, "delay": 0.02, **args}
        return [
            "--tasks",
            "tiny",
            "--include_path",
            str(self.tasks),
            "--output_path",
            str(self.folder / "runs"),
            "--model",
            "toy_parallel",
            "--model_args",
            ",".join(f"{name}={value}" for name, value in given.items()),
            "--score_workers",
            "0",
        ]

    def whole(self, **args: object) -> Ended:
        return mmeval_process(*self.command(**args), env=self.env)

    def killed_inside(self, point: str, count: int) -> int:
        child = [
            sys.executable,
            "-m",
            "tests.soak.support.dying",
            point,
            str(count),
            *self.command(),
        ]
        return subprocess.run(
            child, env=self.env, cwd=ROOT, capture_output=True, timeout=DEADLINE
        ).returncode

    def killed_after(self, answers: int, *, worker: bool) -> int:
        """Kill the run, or one of its workers, once there are so many answers; what
        becomes of the run."""
        with started(*self.command(most=answers), env=self.env) as running:
            wait_for(
                lambda: len(answered(self.folder)) >= answers, f"{answers} answers"
            )
            os.kill(
                notes(self.folder, "answer")[-1].pid if worker else running.process.pid,
                signal.SIGKILL,
            )
            (self.folder / "go").touch()
            # its workers may still be there, and hold what it printed
            return running.process.wait(DEADLINE)

    def all_end(self) -> None:
        wait_for(
            lambda: gone({note.pid for note in notes(self.folder)}, 0),
            "the end of all workers",
        )


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_a_run_whose_process_is_killed_again_and_again_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    # an answer with its reasoning in it would be wrong
    runs = Runs(tmp_path, prefix="<think>hm</think>")
    died = [
        runs.killed_inside("adopt", 3),
        runs.killed_after(8, worker=False),
        runs.killed_inside("records", 2),
    ]
    last = runs.whole()
    spent = results(tmp_path)["mmeval"]["spent"]
    assert (died, last.code, len(answered(tmp_path))) == (
        [-signal.SIGKILL] * 3,
        0,
        ROWS,
    ), last.err
    (row, *_) = results(tmp_path)["mmeval"]["results"]
    assert (row["value"], row["scored"], row["n"]) == (1.0, ROWS, ROWS)
    assert spent["calls"] == ROWS
    runs.all_end()


def test_a_new_process_waits_for_the_workers_of_a_killed_one_and_reads_what_they_still_write(
    runs: Runs,
) -> None:
    with started(*runs.command(most=2, max_batch_size=6), env=runs.env) as running:
        wait_for(
            lambda: len(answered(runs.folder)) >= 2 == len(notes(runs.folder, "begin")),
            "two batches under way",
        )
        running.process.kill()
        running.process.wait(DEADLINE)
    with started(*runs.command(), env=runs.env) as again:
        again.read_until("waiting for their last answers")
        (runs.folder / "go").touch()
        last = again.ended()
    assert any(line.startswith("answers kept: 12 from ") for line in last.lines)
    assert (last.code, answered(runs.folder)) == (0, QUESTIONS)


def test_a_worker_that_is_killed_takes_no_answer_with_it_that_it_had_written(
    runs: Runs,
) -> None:
    assert runs.killed_after(6, worker=True) == 0
    twice = len(answered(runs.folder)) - ROWS
    assert set(answered(runs.folder)) == set(QUESTIONS)
    assert twice <= 1, "at most the row that it had noted and not written yet"
    assert (runs.whole().code, len(answered(runs.folder)) - ROWS) == (0, twice)


def test_workers_whose_parent_is_gone_end_by_themselves_whatever_they_are_at(
    runs: Runs,
) -> None:
    with started(*runs.command(delay=600), env=runs.env) as running:
        wait_for(lambda: len(notes(runs.folder, "begin")) == 2, "two batches under way")
        running.process.kill()
        running.process.wait(DEADLINE)
    assert not gone({note.pid for note in notes(runs.folder)}, 0)
    runs.all_end()


@pytest.mark.parametrize("copies", [0, 2], ids=["in this process", "two workers"])
def test_ctrl_c_while_a_model_is_loaded_ends_the_run_at_once(
    runs: Runs, copies: int
) -> None:
    with started(*runs.command(copies=copies, broken="hang"), env=runs.env) as running:
        wait_for(
            lambda: len(notes(runs.folder, "start")) == max(1, copies), "the start"
        )
        running.signal(signal.SIGINT)
        ended = running.ended()
    assert (ended.code, "Traceback" in ended.err) == (130, False), ended.err
    runs.all_end()


@pytest.mark.parametrize("copies", [0, 2], ids=["in this process", "two workers"])
def test_a_second_ctrl_c_leaves_a_model_that_is_at_work(
    runs: Runs, copies: int
) -> None:
    with started(*runs.command(copies=copies, delay=600), env=runs.env) as running:
        wait_for(
            lambda: len(notes(runs.folder, "begin")) == max(1, copies),
            "the first batches",
        )
        running.signal(signal.SIGINT)
        running.read_until("Ctrl-C again")
        running.signal(signal.SIGINT)
        assert running.ended().code == 130
    runs.all_end()
