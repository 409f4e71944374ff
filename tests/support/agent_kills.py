"""Runs of an agent that are killed again and again, beside one that is not."""

import json
import random
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak.kills.test_crash import killed_once
from tests.support.cli import environment, mmeval_process, run_folder
from tests.support.mock_openai_server import MockServer, Settings, State

Command = Callable[[Path, str, str], Sequence[str]]
"""The command of a run: its folder, the server's address, the run's name."""


def kill_and_go_on(
    folder: Path, agent: str, state: type[State], command: Command, kills: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Run once without a kill and once with so many; the server's counters of both."""
    draw = random.Random(25)
    with MockServer(latency=0.01) as server:
        server.state = state(Settings(latency=0.01))
        whole = mmeval_process(*command(folder, server.url, "whole"), env=environment())
        once = server.stats()
        server.state.reset()
        died = []
        for _ in range(kills):
            wanted = server.stats()["answered"] + draw.randint(
                1, max(1, once["answered"] // (kills + 4))
            )
            output = run_folder(folder, agent, "killed")
            words = list(command(folder, server.url, "killed"))
            died.append(
                killed_once(
                    partial(has_answered, server, wanted), words, server, output
                )
            )
        last = mmeval_process(*command(folder, server.url, "killed"), env=environment())
        stats = server.stats()
    assert (whole.code, died, last.code) == (0, [-signal.SIGKILL] * kills, 0), (
        whole.err + last.err
    )
    return once, stats


def has_answered(server: MockServer, wanted: int) -> bool:
    answered: int = server.stats()["answered"]
    return answered >= wanted


def told(folder: Path, agent: str, name: str) -> dict[str, Any]:
    """The answers of a run and how they came about, but for the time that it took and
    the folder of its media."""
    found = {}
    for file in sorted(run_folder(folder, agent, name).glob("samples_*.jsonl")):
        for row in map(json.loads, file.read_text().splitlines()):
            for step in (
                step
                for repeat in row["trace"]
                for trace in repeat
                for step in trace["steps"]
            ):
                del step["seconds"]
            found[row["doc"]["id"]] = [
                row[key] for key in ("resps", "error", "trace", "usage")
            ]
    return found
