"""Runs that get a signal at any moment, beside four busy processes;
``MMEVAL_SOAK_SIGNALS`` says how many signals.

Some are begun anew, most go on with what an earlier one has left. With ``pytest -s`` it
prints what it has seen.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK
from tests.support.cli import DEADLINE, kept_answers, openai, started, wait_for
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_benchmark

SIGNALS = int(os.environ.get("MMEVAL_SOAK_SIGNALS", "12"))
SEED = 20
BUSY, ROWS, CONNECTIONS = 4, 24, 3
KINDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGINT twice")


@pytest.fixture
def busy() -> Iterator[None]:
    with ExitStack() as stack:
        # A shell's background job ignores Ctrl-C, and so do the processes that it
        # starts until they handle it.
        stack.callback(
            signal.signal,
            signal.SIGINT,
            signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        for _ in range(BUSY):
            at_work = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", at_work])
            )
            stack.callback(process.kill)
        yield


class Soak:
    """One run after the other, in a folder until a run there has come to its end."""

    def __init__(self, folder: Path, server: MockServer) -> None:
        self.seen: Counter[str] = Counter()
        self.whole = 0.0
        """Seconds that a run takes which nothing stops."""
        self._folder, self._server = folder, server
        self._draw, self._runs, self._sent_at = random.Random(SEED), 0, 0.0
        self._tasks = write_benchmark(folder / "tasks", rows=ROWS)

    @property
    def _output(self) -> Path:
        return self._folder / f"runs-{self._runs}"

    def undisturbed(self) -> None:
        began = time.monotonic()
        assert self._run("nothing") == EXIT_OK
        self.whole = time.monotonic() - began

    def signalled(self, kind: str) -> None:
        self.seen[f"{kind}: {self._run(kind)}"] += 1

    def _run(self, kind: str) -> int:
        where = [
            "--tasks",
            "tiny",
            "--include_path",
            str(self._tasks),
            "--output_path",
            str(self._output),
        ]
        command = [
            *where,
            *openai(self._server),
            "--max_connections",
            str(CONNECTIONS),
            "--score_workers",
            "2",
        ]
        kept = kept_answers(self._output)
        with started(*command, start_new_session=True) as running:
            if kind != "nothing":
                self._send(running.process, kind)
            code = running.process.wait(DEADLINE)
            wait_for(
                lambda: not in_session(running.process.pid),
                "the processes of the run to end",
            )
            err = running.ended().err
        wait_for(
            lambda: self._server.stats()["in_flight"] == 0,
            "the server to see that nobody is there",
        )
        self._check(kind, code, err, kept)
        if code == EXIT_OK:
            self._runs += 1
            self._server.state.reset()
        return code

    def _send(self, process: subprocess.Popen[str], kind: str) -> None:
        time.sleep(self._draw.uniform(0, self.whole))
        name, *again = kind.split()
        process.send_signal(signal.Signals[name])
        # not before it: what is written until it is sent is written without a signal
        self._sent_at = time.time()
        if again:
            time.sleep(self._draw.uniform(0, 0.3))
            process.send_signal(signal.Signals[name])

    def _check(self, kind: str, code: int, err: str, kept: int) -> None:
        """The exit code is true, what was kept is there, and no answer is lost that
        could arrive."""
        now, answered = kept_answers(self._output), self._server.stats()["answered"]
        begun = "answers" in err
        written = [
            file.stat().st_mtime for file in self._output.rglob("results_*.json")
        ]
        allowed = (
            {EXIT_OK}
            if written and (kind == "nothing" or min(written) < self._sent_at)
            else set[int]()
        )
        if kind != "nothing":
            number = signal.Signals[kind.split(maxsplit=1)[0]]
            allowed |= (
                {-number} if kind == "SIGKILL" or not begun else {EXIT_INTERRUPTED}
            )
        assert code in (allowed if begun else {*allowed, EXIT_INTERRUPTED}), (
            f"{kind}: {code}\n{err}"
        )
        assert now >= kept
        lost = answered - self.seen[f"lost in runs-{self._runs}"] - now
        assert (
            0 <= lost <= (CONNECTIONS if kind in ("SIGKILL", "SIGINT twice") else 0)
        ), f"{kind}: {lost} lost\n{err}"
        self.seen[f"lost in runs-{self._runs}"] += lost
        self.seen[f"{kind}: answers in the socket"] += lost


def in_session(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(of) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.timeout(60 + 30 * SIGNALS)
def test_signals_at_any_moment_lose_nothing_tell_the_truth_and_leave_no_process(
    busy: None, tmp_path: Path
) -> None:
    with MockServer(latency=0.1, jitter=0.05) as server:
        soak = Soak(tmp_path, server)
        soak.undisturbed()
        for number in range(SIGNALS):
            soak.signalled(KINDS[number % len(KINDS)])
        soak.undisturbed()
    print(f"\n{SIGNALS} signals, {soak.whole:.1f} s a whole run, seed {SEED}")
    for what, count in sorted(soak.seen.items()):
        if not what.startswith("lost in"):
            print(f"{count:5} {what}")
