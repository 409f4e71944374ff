"""Runs in processes of their own that are stopped by a signal."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK
from tests.support.cli import (
    DEADLINE,
    ROOT,
    environment,
    kept_answers,
    mmeval_process,
    openai,
    started,
    stopped_at_work,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import toy_environment, write_benchmark


def run_of_twelve(folder: Path) -> list[str]:
    tasks = write_benchmark(folder / "tasks", rows=12)
    return [
        "--tasks",
        "tiny",
        "--include_path",
        str(tasks),
        "--output_path",
        str(folder / "runs"),
    ]


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_every_answer_leaves_no_process_and_the_next_asks_the_rest(
    number: signal.Signals, tmp_path: Path
) -> None:
    with MockServer(hold_after=4) as server:
        command = [
            *run_of_twelve(tmp_path),
            *openai(server),
            "--max_connections",
            "2",
            "--score_workers",
            "2",
        ]
        with started(*command, start_new_session=True) as running:
            first = stopped_at_work(
                running, server, lambda: os.killpg(running.process.pid, number)
            )
            wait_for(
                lambda: not group_exists(running.process.pid),
                "the scoring processes to end",
            )
        kept = kept_answers(tmp_path)
        second = mmeval_process(*command)
        stats = server.stats()
    assert (first.code, "Traceback" in first.err, kept) == (
        EXIT_INTERRUPTED,
        False,
        4 + 2,
    ), first.err
    assert (second.code, second.lines[0].startswith("answers kept: 6 ")) == (
        EXIT_OK,
        True,
    ), second.err
    assert (stats["unique"], stats["repeated"]) == (12, 0)


def test_a_metric_at_work_does_not_keep_a_stopped_run_from_ending(
    tmp_path: Path,
) -> None:
    command = [
        *run_of_twelve(tmp_path),
        "--model",
        "toy",
        "--model_args",
        f"log={tmp_path / 'asked'}",
    ]
    file = tmp_path / "tasks" / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_yes"))
    (tmp_path / "tasks" / "tiny_data" / "test.jsonl").write_text(
        '{"id": "0", "input": "hang"}\n'
    )
    with started(*command, env=toy_environment(tmp_path / "site")) as running:
        wait_for(lambda: kept_answers(tmp_path) == 1, "the answer")
        running.signal(signal.SIGINT)
        assert running.ended().code == EXIT_INTERRUPTED


MOMENTS: Mapping[str, tuple[str, str, int]] = {
    "begun": ("2", "after(mmeval.__main__, 'steady', 1, come)", 130),
    "tasks read": ("1", "after(mmeval.task.selection, 'select', 1, come)", 130),
    "in exec": (
        "15",
        "after(mmeval.task.selection, 'select', 1, lambda: exec('come()', globals()))",
        130,
    ),
    "all answered": (
        "2,2",
        "after(mmeval.store.journal.Journal, 'close', 1, come)",
        130,
    ),
    "processes ending": (
        "2",
        # these cheap scores need no process else
        "mmeval.metric.scoring.scorer.FEW_TRIALS = 0; "
        "process._ExecutorManagerThread.join_executor_internals = slow_end",
        130,
    ),
    "numbers made": (
        "15",
        "after(mmeval.run.runner, 'finished_results', 1, come)",
        130,
    ),
    "results written": (
        "2,2",
        "after(mmeval.report.publish, 'write_results', 1, come)",
        130,
    ),
    "page written": ("1", "after(mmeval.report.publish, 'write_at_end', 1, come)", 130),
    "swallowed": (
        "2",
        "after(mmeval.report.publish, 'write_at_end', 1, lambda: Swallowing() and "
        "None)",
        130,
    ),
    "all written": ("2,2", "after(mmeval.__main__, '_end_with_threads', 1, come)", 0),
    "at exit": ("15", "atexit.register(come)", 0),
}
"""What comes when, and the exit code: hangup is 1, Ctrl-C 2, SIGTERM 15. What is
registered first runs last at exit."""
SCRIPT = """
import atexit, os, signal, sys, threading, time
from concurrent.futures import process
import mmeval.__main__, mmeval.metric.scoring.scorer, mmeval.report.publish, mmeval.run.runner, mmeval.store.journal, mmeval.task.selection
from tests.support.parallel import after

# as in a terminal, also where the tests run under nohup
signal.signal(signal.SIGHUP, signal.SIG_DFL)
numbers = [int(number) for number in sys.argv.pop(1).split(",")]

def come():
    while numbers:
        os.kill(os.getpid(), numbers.pop())

class Swallowing:
    def __del__(self):
        come()

end, at_exit = process._ExecutorManagerThread.join_executor_internals, threading.Event()
atexit.register(at_exit.set)

def slow_end(thread):
    while sys._current_frames()[threading.main_thread().ident].f_code.co_name not in ("join", "_wait_for_tstate_lock"):
        time.sleep(0.001)
    come()  # while the main thread waits for this one, which is slow
    at_exit.wait(5)
    end(thread)

MOMENT
sys.exit(mmeval.__main__.main())
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_at_any_moment_ends_with_130_unless_everything_is_written(
    moment: str, tmp_path: Path
) -> None:
    numbers, how, code = MOMENTS[moment]
    script = [sys.executable, "-c", SCRIPT.replace("MOMENT", how), numbers]
    command = [*run_of_twelve(tmp_path), "--model", "reference", "--score_workers", "1"]
    done = subprocess.run(
        [*script, *command],
        env=environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == code, done.stderr
    assert code == 130 or list(tmp_path.rglob("results_*.json"))
    assert (moment == "swallowed") or "Traceback" not in done.stderr, done.stderr
