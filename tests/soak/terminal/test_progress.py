"""The progress of a run, in a process whose stderr is a pipe or a terminal."""

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

from tests.support.cli import DEADLINE, QUIET, ROOT, environment, openai
from tests.support.mock_openai_server import MockServer
from tests.support.words import TINY

ROWS = "".join(f'{{"input": "question {i}", "reference": "r"}}\n' for i in range(12))
START = """\
import sys
import termios
from mmeval.__main__ import main
from mmeval.report import progress_bar

progress_bar.SECONDS_BETWEEN_LINES = 0.3
sys.exit(main(sys.argv[1:]))
"""
"""Starts a command with a shorter time between two lines of progress."""


def slow_run(folder: Path, server: MockServer) -> list[str]:
    """The command of a run that takes over a second."""
    (folder / "rows").mkdir()
    (folder / "rows/test.jsonl").write_text(ROWS)
    (folder / "t.yaml").write_text(str(TINY["t.yaml"]))
    flags = ("--max_connections", "1", "--tasks", "t.yaml", "-o", "runs")
    return [sys.executable, "-c", START, "run", *flags, *openai(server), *QUIET]


def progress_of(text: str) -> list[str]:
    return re.findall(r"answered [\d,]+/[\d,]+[^\r\n]*", text)


def test_lines_of_progress_come_at_intervals_through_a_pipe(tmp_path: Path) -> None:
    with MockServer(latency=0.1) as server:
        done = subprocess.run(
            slow_run(tmp_path, server),
            cwd=tmp_path,
            env=environment(PYTHONPATH=str(ROOT)),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
    assert done.returncode == 0, done.stderr
    lines = progress_of(done.stderr)
    assert len(lines) >= 3
    assert lines[-1].startswith("answered 12/12 ")
    assert "\r" not in done.stderr
    whole = [line for line in done.stderr.splitlines() if "answered" in line]
    assert whole == lines


def test_a_terminal_has_one_bar_and_no_lines_of_progress(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with MockServer(latency=0.1) as server:
        done = subprocess.Popen(
            slow_run(tmp_path, server),
            cwd=tmp_path,
            env=environment(PYTHONPATH=str(ROOT), TERM="xterm"),
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        text = written_to(ours)
        assert done.wait(DEADLINE) == 0, text
    shown = [line for line in text.split("\n") if "answered" in line]
    assert len(shown) == 1  # redrawn in its place, never below itself
    assert shown[0].count("\r") > 3
    assert progress_of(text)[-1].startswith("answered 12/12 ")


def written_to(terminal: int) -> str:
    """All that a process writes to a terminal until it ends."""
    chunks = []
    try:
        while chunk := os.read(terminal, 65536):
            chunks.append(chunk)
    except OSError:  # Linux: the process has closed its end
        pass
    os.close(terminal)
    return b"".join(chunks).decode()
