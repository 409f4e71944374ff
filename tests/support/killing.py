"""Runs that are killed at a moment that their server chooses, and what they left behind.

What is still in the socket when a process dies is lost. So a run is killed in the server's own thread, which answers
nothing meanwhile: right after the last answer was kept, while it waits for others.
"""

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

        def gone() -> bool:
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

        while not server.meanwhile_silent(gone):
            time.sleep(0.001)  # another process is at work, which sends nothing that could be waited for
    return process.returncode


def kept(output: Path) -> int:
    """Answers in the journals of the runs below a folder."""
    lines = (line for file in output.glob("*/*/journal/*.jsonl") for line in file.read_bytes().splitlines())
    return sum(b'"r":' in line for line in lines)
