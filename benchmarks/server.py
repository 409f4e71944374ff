"""The mock server as a process of its own, so that its work is not counted among that
of the process that asks it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = (
    Path(__file__).resolve().parents[1] / "tests" / "support" / "mock_openai_server.py"
)


@contextmanager
def serving(latency: float, *words: str) -> Iterator[str]:
    """The URL of a server that answers after ``latency`` seconds; ``words`` are more of
    its arguments."""
    command = [sys.executable, str(SERVER), "--latency", str(latency), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.communicate()
