"""Runs of a model in a process of its own, of which mmeval, a copy, the program or its
wrapper is killed.

Nothing that was answered is asked again, each row has its own words and its own
picture, and no process is left.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.backend_runs import ProcessRuns, own_worker
from tests.support.cli import DEADLINE, Ended, Running, gone, results, started, wait_for

ROWS = [f"question {i}" for i in range(1000)]
KILLS = 50
AGAIN = (-signal.SIGKILL, 1, 3)
"""Codes after which the same command goes on: it was killed, its model while it was
loaded, or rows met two kills."""
VICTIMS = ("mmeval", "copy", "program", "wrapper", "keeper")


def wrapped(runs: ProcessRuns) -> list[str]:
    """The flags of a run whose program is under a shell, as it is under ``conda
    run``."""
    words = runs.command(seconds=0.3)
    return [
        word.replace('command="', 'command="sh -c \'"$@"; exit $?\' sh ')
        for word in words
    ]


def copies(runs: ProcessRuns) -> list[int]:
    """The process ids of the copies, the newest last."""
    log = runs.folder / "runs" / "m" / "default" / "workers" / "model-1.log"
    return (
        [
            int(found)
            for found in re.findall(r"started as process (\d+)", log.read_text())
        ]
        if log.exists()
        else []
    )


def wrapper(program: int) -> int:
    """The oldest child of the keeper, which leads the group of the program."""
    keeper = os.getpgid(program)
    children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text()
    return int(children.split()[0])


def kill(victim: str, runs: ProcessRuns, running: Running) -> None:
    """One of the processes that are there now; nothing where it is gone."""
    with contextlib.suppress(OSError, IndexError):
        program = int(runs.started()[-1])
        pid = {
            "mmeval": running.process.pid,
            "copy": copies(runs)[-1],
            "program": program,
            "wrapper": wrapper(program),
            "keeper": os.getpgid(program),
        }[victim]
        os.kill(pid, signal.SIGKILL)


def all_gone(runs: ProcessRuns) -> bool:
    return gone({*runs.processes(), *copies(runs)})


def test_nothing_answered_is_asked_again_whatever_is_killed(tmp_path: Path) -> None:
    runs, drawn = ProcessRuns(tmp_path, ROWS), random.Random(27)
    words, done, kills = wrapped(runs), Ended(-signal.SIGKILL, "", ""), 0
    while done.code in AGAIN:
        with started(*words) as running:
            while running.process.poll() is None and kills < KILLS:
                time.sleep(drawn.uniform(0, 1.5))
                kills += 1
                kill(drawn.choice(VICTIMS), runs, running)
            done = running.ended()
        assert all_gone(runs)
    assert (done.code, kills) == (0, KILLS), done.err
    (number,) = results(tmp_path)["mmeval"]["results"]
    assert (number["value"], number["scored"], number["n"]) == (
        1.0,
        len(ROWS),
        len(ROWS),
    )
    assert wrong_pictures(tmp_path) == []


def wrong_pictures(folder: Path) -> list[str]:
    """The rows whose picture holds the words of another one. Fails unless the journal
    has one answer for each row."""
    lines = (
        json.loads(line)
        for file in folder.rglob("journal/*.jsonl")
        for line in file.read_bytes().splitlines()
    )
    parts = [line["r"]["output"] for line in lines if "r" in line]
    assert sorted(words["text"] for words, _picture in parts) == sorted(ROWS)
    media = {file.stem: file.read_bytes() for file in folder.rglob("media/*/*")}
    pairs = (
        (words["text"], media[picture["media"]["sha256"]]) for words, picture in parts
    )
    return [text for text, data in pairs if data.partition(b";")[2] != text.encode()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_of_a_run_that_is_ended_in_the_middle_of_a_batch(
    number: signal.Signals, tmp_path: Path
) -> None:
    runs = ProcessRuns(tmp_path, ROWS[:8])
    with started(*runs.command("silence")) as running:
        # not for all of them: on a busy machine the first ones go without the others
        wait_for(lambda: len(runs.asked()) > 0, "a batch")
        running.signal(number)
        if number != signal.SIGKILL:
            running.read_until("Ctrl-C again")
            running.signal(number)
        assert running.process.wait(DEADLINE) == (
            130 if number != signal.SIGKILL else -9
        )
    assert all_gone(runs)


def test_a_worker_of_ours_ends_by_itself_after_the_end_of_its_input(
    tmp_path: Path,
) -> None:
    serve = own_worker(tmp_path)
    ask = "    for number, row in enumerate(rows):\n"
    serve.write_text(
        serve.read_text().replace(ask, f"    import time; time.sleep(1000)\n{ask}")
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, str(serve)], **pipes) as worker:  # type: ignore[call-overload]
        for message in (
            {"type": "load", "args": {}},
            {"type": "generate", "id": 1, "rows": [], "out": None},
        ):
            worker.stdin.write(json.dumps(message).encode() + b"\n")
            worker.stdin.flush()
        assert [json.loads(worker.stdout.readline())["type"] for _ in range(2)] == [
            "hello",
            "ready",
        ]
        worker.stdin.close()
        assert worker.wait(DEADLINE) == -signal.SIGALRM, "its work takes longer"
