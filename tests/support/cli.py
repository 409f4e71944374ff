"""The command line as people run it, in an environment that a test writes down, and its
processes."""

import contextlib
import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmeval.__main__ import main
from tests.support.mock_openai_server import MockServer

# The command line as people run it, in an environment that a test writes down.

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-test-0123456789abcdef"
QUIET = ("--score_workers", "0", "--report", "false")
"""Flags of a run that is scored in this process and writes no page."""
DEADLINE = 240.0
"""Seconds; a process that needs longer hangs."""

_INHERITED = (
    "PYTEST_CURRENT_TEST",
    "PATH",
    "LANG",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "MMEVAL_CACHE_DIR",
)
_NOISE = re.compile(
    r"Traceback|never retrieved|was never awaited|Unclosed|Exception "
    r"ignored|\w+Warning:"
)
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d (\w+) +(.*)")


class Ended(NamedTuple):
    """A process that has ended: its exit status (negative: the signal that killed it)
    and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of stderr."""
        return self.err.splitlines()

    @property
    def error(self) -> str:
        """The one line on stderr that says why the process ended.

        Fails when there are several of them or none, and for the noise of a defect: a
        traceback, a task that nobody awaited, a connection that nobody closed.
        """
        assert not _NOISE.search(self.err), self.err
        found = [line for line in self.lines if line.startswith("error: ")]
        assert len(found) == 1, self.err
        return found[0].removeprefix("error: ")

    @property
    def warnings(self) -> list[str]:
        """What the log warns of, in order, without time and place."""
        assert not _NOISE.search(self.err), self.err
        found = (_LOG_LINE.fullmatch(line) for line in self.lines)
        return [match[2] for match in found if match and match[1] == "WARNING"]


def environment(**more: str) -> dict[str, str]:
    """Nothing of the user's settings, a key that works, no network; ``more`` is set on
    top."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        **kept,
        "OPENAI_API_KEY": KEY,
        "HF_HUB_OFFLINE": "1",
        "MMEVAL_PROBE": "false",
        "NO_COLOR": "1",
        **more,
    }


def mmeval(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ended:
    """Run one command to its end in this process, as in an environment and a folder of
    its own."""
    words = [str(argument) for argument in arguments]
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)
    )
    before, path, nothing = dict(os.environ), list(sys.path), io.StringIO()
    settings = environment() if env is None else env
    with (
        contextlib.chdir(cwd or Path.cwd()),
        restored_log(),
        warnings.catch_warnings(),
        pytest.MonkeyPatch.context() as patched,
    ):
        for name, stream in (("stdin", nothing), ("stdout", out), ("stderr", err)):
            patched.setattr(sys, name, stream)
        patched.setattr(sys, "argv", ["mmeval", *words])
        warnings.resetwarnings()
        warnings.simplefilter("default")
        os.environ.clear()
        os.environ.update(settings)
        try:
            code = main(words)
        finally:
            os.environ.clear()
            os.environ.update(before)
            sys.path[:] = path
    return Ended(code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode("utf-8", "replace")


def share_scans(cache: Path) -> None:
    """Let commands with a cache of their own start with the scans of our own task
    files, which no test changes. To read them anew takes longer than most commands."""
    scans = Path(os.environ["MMEVAL_CACHE_DIR"]) / "tasks"
    if not scans.exists():
        mmeval("ls", "tasks")
    shutil.copytree(scans, cache / "tasks")


def mmeval_process(
    *arguments: str | Path, env: Mapping[str, str] | None = None, **popen: Any
) -> Ended:
    """Run one command in a process of its own: for signals, pipes, imports and what an
    environment decides.

    ``popen`` goes to ``subprocess.run``."""
    options: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "timeout": DEADLINE,
        "stdin": subprocess.DEVNULL,
    }
    done = subprocess.run(
        command(*arguments), env=env or environment(), **{**options, **popen}
    )
    return Ended(done.returncode, done.stdout or "", done.stderr or "")


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "mmeval", *map(str, arguments)]


class Running:
    """A command at work; its output is read when it has ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def read_until(self, words: str) -> str:
        """Read what the command writes on stderr up to the line that holds some words,
        which is returned."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"{words!r} was not written")

    def read_until_all(self, *words: str) -> list[str]:
        """Read what the command writes on stderr up to the last of the lines that hold
        these words, which come in any order; the line of each."""
        found: dict[str, str] = {}
        assert self.process.stderr is not None
        for line in self.process.stderr:
            for word in words:
                if word in line:
                    found.setdefault(word, line)
            if len(found) == len(words):
                return [found[word] for word in words]
        raise AssertionError(f"of {words!r} only {[*found]!r} were written")

    def ended(self) -> Ended:
        out, err = self.process.communicate(timeout=DEADLINE)
        return Ended(self.process.returncode, out, err)


@contextlib.contextmanager
def started(
    *arguments: str | Path, env: Mapping[str, str] | None = None, **popen: Any
) -> Iterator[Running]:
    """A command in the background; it does not outlive the block."""
    with subprocess.Popen(
        command(*arguments),
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    ) as process:
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Fails when a condition does not come true in time: other processes send nothing
    that could be waited for."""
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.001)


def stopped_at_work(
    running: Running, server: MockServer, stop: Callable[[], None], held: int = 2
) -> Ended:
    """The end of a run that is stopped while a server holds so many requests, which are
    answered afterwards."""
    wait_for(lambda: len(server.state.held) == held, f"{held} requests in flight")
    stop()
    running.read_until("in flight")
    server.let_go()
    return running.ended()


def openai(server: MockServer, **more: str) -> list[str]:
    """The flags that name a mock server's model; ``more`` are further arguments of the
    backend."""
    arguments = {"base_url": server.url, "model": "m", **more}
    return [
        "--model",
        "openai",
        "--model_args",
        ",".join(f"{name}={value}" for name, value in arguments.items()),
    ]


def run_folder(output: Path, model: str = "m", run_id: str = "default") -> Path:
    return output / model / run_id


def results(output: Path) -> dict[str, Any]:
    """The newest results file below a folder."""
    newest = max(output.rglob("results_*.json"), key=lambda path: path.name)
    document: dict[str, Any] = json.loads(newest.read_text("utf-8"))
    return document


def score_files(output: Path) -> dict[str, bytes]:
    """The finished score rows of every run below a folder, by task and score set."""
    return {
        "/".join(path.parts[-3:]): path.read_bytes()
        for path in sorted(output.rglob("scores.jsonl"))
    }


def kept_answers(output: Path) -> int:
    """Answers of servers in the journals of the runs below a folder, those that were
    not acceptable too."""
    lines = (
        line
        for file in output.rglob("journal/*.jsonl")
        for line in file.read_bytes().splitlines()
    )
    elsewhere = (b'"to":[]', b'"to":["code_interpreter","sandbox"')
    return sum(
        (b'"r":' in line or b'"refused":' in line)
        and not any(mark in line for mark in elsewhere)
        for line in lines
    )


# Tests that configure the log leave it as they found it.


@contextlib.contextmanager
def restored_log() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("mmeval")
    handlers, level = list(root.handlers), ours.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        ours.setLevel(level)


# Whether processes are gone: one that has ended and is not waited for counts as gone.


def gone(pids: set[int], seconds: float = DEADLINE) -> bool:
    """Whether all of them are gone within some seconds."""
    until = time.monotonic() + seconds
    while left := {pid for pid in pids if not _has_ended(pid)}:
        if time.monotonic() > until:
            return False
        pids = left
        time.sleep(0.01)
    return True


def _has_ended(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
    except OSError:
        return True
