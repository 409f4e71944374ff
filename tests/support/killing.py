"""Runs that are killed from outside at a moment that their server chooses, and what they left behind.

What is still in the socket when a process dies has reached nobody, and nobody could keep it. So a run is killed in the
server's own thread, which answers nobody meanwhile: right after the last answer was kept, with others being waited for.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.cli import wait_for
from tests.support.mock_openai_server import MockServer

PATIENCE = 60
"""Seconds that a run may take to keep the answers that it has."""


def killed_once(
    reached: Callable[[], bool],
    arguments: Sequence[str | Path],
    server: MockServer,
    output: Path,
    env: Mapping[str, str],
) -> int:
    """A run that is killed once its server has reached a state, with requests in flight; its exit status, which is 0
    where it ended first. The server gives it every answer that it gets, below ``output``."""
    words = [sys.executable, "-m", "mmeval", *map(str, arguments)]
    with subprocess.Popen(words, env=env, stdin=-3, stdout=-3, stderr=-3) as process:
        while not server.meanwhile_silent(lambda: _gone(reached, process, server, output)):
            time.sleep(0.001)  # another process is at work, which sends nothing that could be waited for
    return process.returncode


def _gone(reached: Callable[[], bool], process: subprocess.Popen[bytes], server: MockServer, output: Path) -> bool:
    """In the server's thread: whether the process is gone, which is killed here when its moment has come."""
    if process.poll() is not None:
        return True
    if not reached() or not server.state.in_flight:
        return False
    answered = server.stats()["answered"]
    wait_for(lambda: kept(output) >= answered, f"{answered} answers that are kept")
    process.kill()
    process.wait()
    server.hang_up()
    return True


def kept(output: Path) -> int:
    """Answers in the journals of the runs below a folder."""
    lines = (line for file in output.glob("*/*/journal/*.jsonl") for line in file.read_bytes().splitlines())
    return sum(b'"r":' in line for line in lines)
