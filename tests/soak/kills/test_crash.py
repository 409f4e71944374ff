"""Runs and exports that are killed: the scores are those of a run that never was, and
nothing is asked twice."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import (
    DEADLINE,
    ROOT,
    environment,
    kept_answers,
    mmeval,
    mmeval_process,
    score_files,
    wait_for,
)
from tests.support.judges import (
    ANSWER,
    HonestServer,
    honest_server,
    judged,
    model,
    words,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_story_tasks

ROWS = 16
ENV = environment(PYTHONPATH=str(ROOT))


def command(tasks: Path, url: str, output: Path) -> list[str]:
    return [
        "--tasks",
        "tale_turns,tale_first,tale_again",
        "--include_path",
        str(tasks),
        "--model",
        "openai",
        "--model_args",
        f"base_url={url},model=m,outputs=text+image",
        "--output_path",
        str(output),
        "--max_connections",
        "4",
    ]


def killed_inside(arguments: Sequence[str], point: str, count: int) -> int:
    """A run that kills itself at a point of the program; its exit status. One
    connection, so that no other answer is in the socket at that moment, where it would
    be lost."""
    child = [
        sys.executable,
        "-m",
        "tests.soak.support.dying",
        point,
        str(count),
        *arguments,
        "--max_connections",
        "1",
    ]
    return subprocess.run(
        child, env=ENV, cwd=ROOT, capture_output=True, timeout=DEADLINE
    ).returncode


def killed_outside(
    arguments: Sequence[str], server: MockServer, output: Path, more: int
) -> int:
    wanted = server.stats()["answered"] + more
    return killed_once(
        lambda: server.stats()["answered"] >= wanted, arguments, server, output
    )


def killed_once(
    reached: Callable[[], bool],
    arguments: Sequence[str | Path],
    server: MockServer,
    output: Path,
    before: int = 0,
) -> int:
    """A run that is killed once its server has reached a state, with requests in
    flight; its exit status, which is 0 where it ended first. ``before`` is the number
    of answers that other servers gave. What is still in the
    socket when a process dies is lost: so it is killed in the server's own thread,
    which answers nothing meanwhile, right after the last answer was kept below
    ``output``."""
    words = [sys.executable, "-m", "mmeval", *map(str, arguments)]
    with subprocess.Popen(words, env=ENV, stdin=-3, stdout=-3, stderr=-3) as process:

        def gone() -> bool:
            """In the server's thread: whether the process is gone, which is killed here
            when its moment has come."""
            if process.poll() is not None:
                return True
            if not reached() or not server.state.in_flight:
                return False
            answered = server.stats()["answered"]
            wait_for(
                lambda: kept_answers(output) - before >= answered,
                f"{answered} answers that are kept",
            )
            process.kill()
            process.wait()
            server.hang_up()
            return True

        while not server.meanwhile_silent(gone):
            # another process is at work, which sends nothing that could be waited for
            time.sleep(0.001)
    return process.returncode


def test_a_run_killed_ten_times_ends_with_identical_scores_and_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", ROWS)
    with MockServer(latency=0.12) as server:
        whole = mmeval_process(*command(tasks, server.url, tmp_path / "whole"))
        asked_once = server.stats()["unique"]
        server.state.reset()
        arguments = command(tasks, server.url, tmp_path / "killed")
        draw = random.Random(20)
        died = []
        for point in draw.sample(
            ["receipt", "media", "line", "line", "outside", "outside", "outside"], 7
        ):
            if point == "outside":
                died.append(
                    killed_outside(
                        arguments, server, tmp_path / "killed", draw.randint(1, 5)
                    )
                )
            else:
                died.append(killed_inside(arguments, point, draw.randint(1, 5)))
        left = asked_once - server.stats()["answered"]
        # Trials are scored in batches, as many as time makes of them, so that only one
        # of these is certain.
        died += [
            killed_inside(arguments, *last)
            for last in (("records", 3), ("scores", 1), ("results", 2))
        ]
        last = mmeval_process(*arguments)
        stats = server.stats()

    assert (whole.code, died, left > 0, last.code) == (
        0,
        [-signal.SIGKILL] * 10,
        True,
        0,
    ), whole.err + last.err
    assert (stats["repeated_after_answer"], stats["unique"]) == (0, asked_once)
    assert asked_once == ROWS * 2 * (3 + 1)
    assert score_files(tmp_path / "killed") == score_files(tmp_path / "whole")
    assert len(score_files(tmp_path / "whole")) == 3
    assert not list((tmp_path / "killed").glob("*/*/journal/inbox/*"))


MOMENTS: Mapping[str, Callable[[HonestServer], bool]] = {
    "answers": lambda server: server.state.asked["answer"] >= 3,
    "captions": lambda server: server.state.asked["caption"] >= 4,
    "verdicts": lambda server: (
        server.state.asked["semantic"] + server.state.asked["coherence"] >= 4
    ),
}


def test_a_run_killed_among_answers_captions_and_verdicts_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    def flags(server: HonestServer, name: str) -> list[str | Path]:
        return [
            *words(tmp_path / name, *model(server), *judged(server)),
            "--max_connections",
            "2",
        ]

    with honest_server(reply=ANSWER) as server:
        assert mmeval_process(*flags(server, "whole")).code == 0
        whole = server.stats()
    with honest_server(reply=ANSWER, latency=0.1) as server:
        command = flags(server, "killed")
        died = [
            killed_once(partial(reached, server), command, server, tmp_path / "killed")
            for reached in MOMENTS.values()
        ]
        left = whole["answered"] - server.stats()["answered"]
        last = mmeval_process(*command)

        assert (died, last.code, left > 0) == ([-signal.SIGKILL] * 3, 0, True), last.err
        assert (server.stats()["repeated_after_answer"], server.stats()["unique"]) == (
            0,
            whole["unique"],
        )
    assert list(score_files(tmp_path / "killed").values()) == list(
        score_files(tmp_path / "whole").values()
    )


EXPORTS: Mapping[str, tuple[str, str, int, int]] = {
    "mmmg": (
        "mmmg_music_tempo",
        "mmeval.tasks.mmmg.output_writing import _FileWriter as writer",
        3,
        3,
    ),
    "unim": ("unim", "mmeval.tasks.unim.output.writing import _Files as writer", 5, 0),
}


@pytest.mark.parametrize("layout", EXPORTS)
def test_an_export_that_is_killed_leaves_nothing_half_done(
    layout: str, tmp_path: Path
) -> None:
    tasks, writer, count, code = EXPORTS[layout]
    method = {"mmmg": "_put", "unim": "put"}[layout]
    script = f"""
import sys
from {writer}
from mmeval.__main__ import main
from tests.support.parallel import after, die
after(writer, {method!r}, {count}, die)
main(sys.argv[1:])
"""
    asked: tuple[Any, ...] = (
        "--tasks",
        tasks,
        "--data",
        "bundled",
        "--predict_only",
        "--report",
        "false",
    )
    made = mmeval(*asked, "--model", "reference", "--output_path", tmp_path / "runs")
    export = [
        "export",
        str(tmp_path / "runs/reference/default"),
        "--format",
        layout,
        "-o",
        str(tmp_path / "out"),
    ]
    killed = subprocess.run(
        [sys.executable, "-c", script, *export],
        env=ENV,
        capture_output=True,
        timeout=DEADLINE,
    )
    left = (tmp_path / "out/reference").exists()
    done = mmeval(*export)

    assert (made.code, killed.returncode, left, done.code) == (
        0,
        -signal.SIGKILL,
        False,
        code,
    ), made.err + done.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["reference"]
