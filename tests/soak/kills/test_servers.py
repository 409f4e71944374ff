"""Runs of a model whose server mmeval starts, of which mmeval or the server is ended at
any moment.

Nothing that was answered is asked again, and no process is left.
"""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.support.backend_runs import ServerRuns
from tests.support.cli import (
    DEADLINE,
    Ended,
    gone,
    kept_answers,
    results,
    started,
    wait_for,
)

ROWS = [f"question {i}" for i in range(400)]
KILLS = 12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("when", ["while it loads", "while it answers"])
def test_no_process_is_left_of_a_run_that_is_ended(
    number: signal.Signals, when: str, tmp_path: Path
) -> None:
    runs = ServerRuns(tmp_path, ROWS, "unhealthy" if when == "while it loads" else "")
    with started(
        *runs.command("--max_connections", "2"), env=runs.environment
    ) as running:
        wait_for(
            lambda: bool(
                runs.noted("engines" if when == "while it loads" else "asked")
            ),
            "a server",
        )
        running.signal(number)
        if number == signal.SIGKILL:
            assert running.process.wait(DEADLINE) == -9
        else:
            assert running.ended().code == 130
    assert gone(runs.processes())


def test_nothing_answered_is_asked_again_whatever_is_killed(tmp_path: Path) -> None:
    runs, drawn = ServerRuns(tmp_path, ROWS), random.Random(29)
    done, kills = Ended(-signal.SIGKILL, "", ""), 0
    while done.code in (-signal.SIGKILL, 1, 3):
        with started(
            *runs.command("--max_connections", "2"), env=runs.environment
        ) as running:
            while running.process.poll() is None and kills < KILLS:
                time.sleep(drawn.uniform(0.5, 2.0))
                kills += 1
                with contextlib.suppress(OSError, IndexError):
                    os.kill(
                        drawn.choice([running.process.pid, runs.starts()[-1][0]]),
                        signal.SIGKILL,
                    )
            done = running.ended()
        assert gone(runs.processes())
    assert done.code == 0, done.err
    (number,) = results(tmp_path)["mmeval"]["results"]
    assert (number["value"], number["scored"], number["n"]) == (
        1.0,
        len(ROWS),
        len(ROWS),
    )
    assert kept_answers(tmp_path) == len(ROWS)
    assert len(runs.noted("asked")) <= len(ROWS) + 2 * kills
