"""A run that is killed thirty times ends with the scores of one that never was, and asks nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.dying import POINTS
from tests.support.killing import kept, killed_once
from tests.support.mock_openai_server import MockServer
from tests.support.story_tasks import write_story_tasks
from tests.support.toy import damage

ROOT = Path(__file__).resolve().parents[2]
ROWS = 16
SEED = 20
KILLS = 30
LATENCY = 0.12


def command(tasks: Path, url: str, output: Path) -> list[str]:
    return [
        *("--tasks", "tale_turns,tale_first,tale_again", "--include_path", str(tasks)),
        *("--model", "openai", "--model_args", f"base_url={url},model=m,outputs=text+image"),
        *("--output_path", str(output), "--max_connections", "4"),
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "test", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def whole_run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mmeval", *arguments], env=environment(), capture_output=True, text=True, timeout=120
    )


def killed_inside(arguments: Sequence[str], point: str, count: int) -> int:
    """A run that kills itself at a point of the program; its exit status. One connection, so that no other answer is
    in the socket at that moment: what has reached nobody, nobody could keep."""
    child = [sys.executable, "-m", "tests.support.dying", point, str(count), *arguments, "--max_connections", "1"]
    return subprocess.run(child, env=environment(), cwd=ROOT, capture_output=True, timeout=120).returncode


def killed_outside(arguments: Sequence[str], server: MockServer, output: Path, after: int) -> int:
    """A run that is killed from outside once some more answers came; its exit status."""
    wanted = server.stats()["answered"] + after
    return killed_once(lambda: server.stats()["answered"] >= wanted, arguments, server, output, environment())


def scores(output: Path) -> dict[str, bytes]:
    return {str(p.relative_to(output)): p.read_bytes() for p in sorted(output.glob("*/*/scores/*/*/scores.jsonl"))}


def test_a_run_killed_thirty_times_ends_with_identical_scores_and_asks_nothing_twice(tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", ROWS)
    with MockServer(latency=LATENCY) as server:
        whole = whole_run(command(tasks, server.url, tmp_path / "whole"))
        asked_once = server.stats()["unique"]
        server.state.reset()
        arguments = command(tasks, server.url, tmp_path / "killed")

        draw = random.Random(SEED)
        inside = ["receipt", "media", "line", "line"] * 4
        plan = [*inside, *["outside"] * (KILLS - len(inside) - 3)]
        draw.shuffle(plan)
        died = []
        for point in plan:
            count = draw.randint(1, 5)
            if point == "outside":
                died.append(killed_outside(arguments, server, tmp_path / "killed", count))
            else:
                died.append(killed_inside(arguments, point, count))
        left = asked_once - server.stats()["answered"]
        # Trials are scored in batches, as many as time makes of them, so that only one of these is certain.
        died += [killed_inside(arguments, *last) for last in (("records", 3), ("scores", 1), ("results", 2))]
        last = whole_run(arguments)
        stats = server.stats()

    assert whole.returncode == 0, whole.stderr
    assert died == [-signal.SIGKILL] * KILLS
    assert left > 0, "the last kills come in the middle of a run too"
    assert last.returncode == 0, last.stderr
    assert stats["repeated_after_answer"] == 0
    assert stats["unique"] == asked_once == ROWS * 2 * (3 + 1)
    assert scores(tmp_path / "killed") == scores(tmp_path / "whole")
    assert len(scores(tmp_path / "whole")) == 3
    assert not list((tmp_path / "killed").glob("*/*/journal/inbox/*"))


@pytest.mark.parametrize("point", ["receipt", "media", "line"])
def test_an_answer_with_media_survives_a_kill_at_every_step_of_keeping_it(point: str, tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 1)
    with MockServer() as server:
        arguments = command(tasks, server.url, tmp_path / "runs")
        died = killed_inside(arguments, point, 2)
        last = whole_run(arguments)
        stats = server.stats()
    assert died == -signal.SIGKILL
    assert last.returncode == 0, last.stderr
    assert stats["repeated"] == 0


def test_a_line_that_is_damaged_after_a_kill_in_an_episode_is_all_that_is_asked_again(tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 1)
    with MockServer() as server:
        whole = whole_run(command(tasks, server.url, tmp_path / "whole"))
        answers = kept(tmp_path / "whole")
        server.state.reset()
        arguments = command(tasks, server.url, tmp_path / "runs")
        died = killed_inside(arguments, "line", answers - 1)
        damage(tmp_path / "runs", "tale_turns/t0/0#1@")
        left = kept(tmp_path / "runs")
        last = whole_run(arguments)
        stats = server.stats()
    assert (whole.returncode, died, last.returncode) == (0, -signal.SIGKILL, 0), last.stderr
    assert (left, kept(tmp_path / "runs")) == (answers - 2, answers)
    assert stats["repeated"] == 1
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")


def test_every_named_point_exists() -> None:
    assert all(hasattr(owner, name) for owner, name in POINTS.values())
