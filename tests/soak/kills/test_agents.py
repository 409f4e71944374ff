"""Runs of an agent that are killed: nothing is asked twice, and the answers come about
as without a kill."""

import os
import random
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.soak.kills.test_crash import killed_once
from tests.soak.support.agents import PLUGINS
from tests.support.cli import ROOT, environment, mmeval_process, run_folder, score_files
from tests.support.mock_openai_server import MockServer
from tests.support.questions import where, write_questions
from tests.support.readers import latest, read_samples
from tests.support.task_folder import write_distribution

KILLS = int(os.environ.get("KILLS", "12"))
"""100 of them take some minutes."""
ROWS = max(8, KILLS)


def command(folder: Path, url: str, name: str) -> list[str]:
    roles = {
        "planner": f"openai,base_url={url},model=p",
        "text_to_image": f"openai,base_url={url},model=i,outputs=image",
    }
    return [
        *where(folder),
        "--model",
        "storyteller",
        "--run_id",
        name,
        "--log_samples",
        "--max_connections",
        "4",
        *(
            word
            for role, spec in roles.items()
            for word in ("--role", f"{role}={spec}")
        ),
    ]


def told(folder: Path, name: str) -> list[Mapping[str, Any]]:
    """Each answer of a run with its trace, but for the time that it took and the folder
    of its media."""
    rows = read_samples(
        latest(run_folder(folder / "runs", "storyteller", name))[1]["ask"]
    )
    for row in rows:
        for trace in row["trace"][0]:
            for step in trace["steps"]:
                del step["seconds"]
        for part in row["parts"][0]:
            part.get("media", {}).pop("path", None)
    return [
        {key: row[key] for key in ("parts", "trace", "usage", "warnings") if key in row}
        for row in rows
    ]


def reached(server: MockServer, answered: int) -> bool:
    return bool(server.stats()["answered"] >= answered)


def test_a_killed_run_of_an_agent_asks_nothing_twice_and_its_answers_come_about_as_without_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_distribution(tmp_path, "dist-agents", PLUGINS)
    file = write_questions(tmp_path / "tasks", "ask", range(ROWS)) / "ask.yaml"
    file.write_text(file.read_text().replace("[text]", "[text, image]"))
    env = environment(PYTHONPATH=f"{tmp_path}:{ROOT}")
    monkeypatch.setattr("tests.soak.kills.test_crash.ENV", env)
    draw = random.Random(25)
    with MockServer(latency=0.03) as server:
        whole = mmeval_process(*command(tmp_path, server.url, "whole"), env=env)
        once = server.stats()
        server.state.reset()
        died = []
        for _ in range(KILLS):
            wanted = server.stats()["answered"] + draw.randint(
                1, max(1, once["answered"] // (KILLS + 4))
            )
            words = command(tmp_path, server.url, "killed")
            output = run_folder(tmp_path / "runs", "storyteller", "killed")
            died.append(
                killed_once(partial(reached, server, wanted), words, server, output)
            )
        last = mmeval_process(*command(tmp_path, server.url, "killed"), env=env)
        stats = server.stats()

    assert (whole.code, died, last.code) == (0, [-signal.SIGKILL] * KILLS, 0), (
        whole.err + last.err
    )
    assert (stats["repeated_after_answer"], stats["unique"]) == (0, once["unique"])
    assert told(tmp_path, "killed") == told(tmp_path, "whole")
    mended = [len(row["trace"][0][0]["steps"]) for row in told(tmp_path, "whole")]
    assert max(mended) > min(mended), "repair loops are among them"
    assert score_files(tmp_path / "runs")
