"""Faults of servers, over a socket: what can succeed when it is asked again is not
lost, and the exit code is true.

Each scenario is a row of the table in ``docs/reliability.md``. Its test runs it and
compares the row; ``REWRITE_DOCS=1 python -m pytest tests/soak/kills/test_faults.py``
writes the rows instead.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import pytest

from tests.support.cli import (
    DEADLINE,
    ROOT,
    Ended,
    environment,
    kept_answers,
    mmeval_process,
    openai,
    results,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import toy_environment, write_judged, write_questions

PAGE = ROOT / "docs" / "reliability.md"
SERVER = ROOT / "tests" / "support" / "mock_openai_server.py"
SAMPLES = 200
LATENCY = 0.02
IMPATIENT = """
import sys
from mmeval.__main__ import main
from mmeval.broker import outage
outage.START_SECONDS = outage.OUTAGE_SECONDS = 2.0
sys.exit(main(sys.argv[1:]))
"""
"""mmeval gives up an unreachable server after two seconds; users wait for 30 and
300."""


class Seen(NamedTuple):
    """What came of a scenario: calls that have an answer, trials that failed, the exit
    code; then how many requests the command sent once the fault was gone, and its exit
    code."""

    answered: int
    failed: int
    code: int
    again: int = 0
    mended: int = 0

    def row(self, fault: str, what: str) -> str:
        later = f"asks {self.again}, ends with {self.mended}" if self.code else ""
        return (
            f"| {fault} | {what} | {self.answered} | {self.failed} | {self.code} | "
            f"{later} |"
        )


class Process:
    """A mock server in a process of its own, which can be killed and started again at
    the same port."""

    def __init__(self, **settings: Any) -> None:
        self._settings, self.port = settings, 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self, **changed: Any) -> None:
        self.kill()
        settings = {**self._settings, **changed}
        words = [
            f"--{name.replace('_', '-')}={value}" for name, value in settings.items()
        ]
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), f"--port={self.port}", *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = json.loads(self._process.stdout.readline())["port"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, Any]:
        with urlopen(f"http://127.0.0.1:{self.port}/stats") as reply:
            found: dict[str, Any] = json.load(reply)
            return found

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def server_process(**settings: Any) -> Iterator[Process]:
    server = Process(**{"latency": LATENCY, **settings})
    try:
        yield server
    finally:
        server.kill()


def asking(tmp_path: Path, *flags: str) -> list[str]:
    """The flags of a run over so many questions, but for the model."""
    folder = write_questions(tmp_path / "tasks", "ask", range(SAMPLES))
    where = [
        "--tasks",
        "ask",
        "--include_path",
        str(folder),
        "--output_path",
        str(tmp_path / "runs"),
    ]
    return [*where, "--max_connections", "16", *flags]


def impatient_process(
    *arguments: str | Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A command that gives up an unreachable server soon."""
    words = [
        sys.executable,
        "-c",
        IMPATIENT,
        *map(str, arguments),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, env=env or environment(), cwd=ROOT, stdout=pipe, stderr=pipe, text=True
    )


def impatient(*arguments: str | Path) -> Ended:
    with impatient_process(*arguments) as process:
        out, err = process.communicate(timeout=DEADLINE)
    return Ended(process.returncode, out, err)


def failed(tmp_path: Path) -> int:
    """Trials that were recorded as failed."""
    rows = (
        json.loads(line)
        for file in tmp_path.rglob("trials/ask.jsonl")
        for line in file.read_text().splitlines()
    )
    return len({row["i"] for row in rows if "error" in row})


def struck(
    tmp_path: Path,
    flags: tuple[str, ...] = (),
    wanted: str = "",
    timeout: str = "",
    **faults: float | str,
) -> Seen:
    """A run against a server with faults, one of which is ``wanted``; then the same
    command against a sound one."""
    with MockServer(latency=LATENCY, **faults) as server:
        arguments = [
            *asking(tmp_path, *flags),
            *openai(server, **({"timeout": timeout} if timeout else {})),
        ]
        done = mmeval_process(*arguments)
        stats = server.stats()
        found = Seen(kept_answers(tmp_path), failed(tmp_path), done.code)
        assert stats["faults"].get(wanted, 1) > 0
        # an answer that comes too late is not read, and a busy machine makes some
        if not timeout:
            assert stats["repeated_after_answer"] == 0
        server.state.reset()
        for name, value in faults.items():
            setattr(server.state.settings, name, type(value)())
        mended = mmeval_process(*arguments)
        assert kept_answers(tmp_path) == SAMPLES
        return found._replace(again=server.stats()["requests"], mended=mended.code)


def back_soon(tmp_path: Path) -> Seen:
    """The server is killed in the middle and comes back, with nothing of what it
    knew."""
    with server_process(hold_after=50) as server:
        with started(
            *asking(tmp_path, "--retry_on_error", "1"), *openai_at(server)
        ) as running:
            wait_for(
                lambda: (
                    server.stats()["in_flight"] == 16 and kept_answers(tmp_path) == 50
                ),
                "50 answers",
            )
            server.kill()
            running.read_until("every call waits")
            server.start(hold_after=-1)
            done = running.ended()
        stats = server.stats()
    assert stats["answered"] == SAMPLES - 50
    return Seen(kept_answers(tmp_path), failed(tmp_path), done.code)


def gone(tmp_path: Path) -> Seen:
    with server_process(die_after=50) as server:
        arguments = [*asking(tmp_path, "--max_connections", "1"), *openai_at(server)]
        done = impatient(*arguments)
        assert re.search(r"127\.0\.0\.1:\d+ .* for \d+ s\.", done.error)
        found = Seen(kept_answers(tmp_path), failed(tmp_path), done.code)
        server.start(die_after=0)
        mended = mmeval_process(*arguments)
        return found._replace(again=server.stats()["requests"], mended=mended.code)


def never_there(tmp_path: Path) -> Seen:
    with server_process() as server:
        arguments = [*asking(tmp_path), *openai_at(server)]
        server.kill()
        done = impatient(*arguments)
        server.start()
        mended = mmeval_process(*arguments)
        return Seen(
            0, failed(tmp_path), done.code, server.stats()["requests"], mended.code
        )


def no_such_host(tmp_path: Path) -> Seen:
    model = [
        "--model",
        "openai",
        "--model_args",
        "model=m,base_url=http://no-such-host.invalid/v1",
    ]
    done = impatient(*asking(tmp_path), *model)
    assert re.search(r"the model: no-such-host\.invalid:\d+ ", done.error)
    with MockServer() as server:
        mended = mmeval_process(*asking(tmp_path, "--fresh"), *openai(server))
        return Seen(
            0, failed(tmp_path), done.code, server.stats()["requests"], mended.code
        )


def openai_at(server: Process) -> list[str]:
    return ["--model", "openai", "--model_args", f"base_url={server.url},model=m"]


class Fault(NamedTuple):
    """A row of the table: what goes wrong, what mmeval does, and the run that shows
    it."""

    fault: str
    what: str
    run: Callable[[Path], Seen]


FAULTS = (
    Fault(
        "25 % answered 429, 5 % answered 500",
        "each waits and is sent again",
        partial(struck, rate_429=0.25, rate_500=0.05, wanted="429"),
    ),
    Fault(
        "2 % answered with broken JSON",
        "sent again",
        partial(struck, rate_malformed=0.02, wanted="malformed"),
    ),
    Fault(
        "2 % cut off in the middle of the answer",
        "sent again",
        partial(struck, rate_truncated=0.02, wanted="truncated"),
    ),
    Fault(
        "2 % disconnected without an answer",
        "sent again",
        partial(struck, rate_disconnect=0.02, wanted="disconnect"),
    ),
    Fault(
        "2 % never answered (`timeout=1`)",
        "given up after the time, sent again",
        partial(struck, rate_timeout=0.02, hang=60, timeout="1", wanted="timeout"),
    ),
    Fault(
        "10 % answered byte by byte",
        "waited for",
        partial(struck, rate_slow=0.1, hang=1, wanted="slow"),
    ),
    Fault(
        "5 % answered 500, `--retry_on_error 0`",
        "failed, the run goes on",
        partial(struck, flags=("--retry_on_error", "0"), rate_500=0.05, wanted="500"),
    ),
    Fault(
        "one request always answered 500, `--retry_on_error 2`",
        "failed after its tries, the run goes on",
        partial(struck, flags=("--retry_on_error", "2"), poison='question 7"'),
    ),
    Fault(
        "the server is killed and back soon, `--retry_on_error 1`",
        "every call waits, none fails",
        back_soon,
    ),
    Fault(
        "the server dies after 50 answers and stays away",
        "waited for, then the run stops",
        gone,
    ),
    Fault(
        "no server listens at the address",
        "waited for, then the run stops",
        never_there,
    ),
    Fault("the host does not exist", "waited for, then the run stops", no_such_host),
    Fault(
        "the key expires after 80 answers (401)",
        "the run stops",
        partial(
            struck, flags=("--max_connections", "1"), expire_after=80, wanted="401"
        ),
    ),
)

HEAD = (
    "| fault | what happens | answered | failed | exit code | the same command later |"
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.fault)
def test_a_fault_ends_as_the_page_on_reliability_says(
    fault: Fault, tmp_path: Path
) -> None:
    row = fault.run(tmp_path).row(fault.fault, fault.what)
    if os.environ.get("REWRITE_DOCS"):
        rewrite(fault.fault, row)
    assert row in PAGE.read_text().splitlines()


def rewrite(fault: str, row: str) -> None:
    """Put a row into the table of the page, in the order of the scenarios."""
    lines = PAGE.read_text().splitlines()
    first = lines.index(HEAD) + 2
    end = lines.index("", first)
    rows = {name_of(line): line for line in lines[first:end]} | {fault: row}
    lines[first:end] = [rows[known.fault] for known in FAULTS if known.fault in rows]
    PAGE.write_text("\n".join(lines) + "\n")


def name_of(row: str) -> str:
    return row.removeprefix("| ").partition(" | ")[0]


def test_the_page_has_the_faults_that_are_tested_in_their_order() -> None:
    lines = PAGE.read_text().splitlines()
    first = lines.index(HEAD) + 2
    assert [name_of(row) for row in lines[first : lines.index("", first)]] == [
        fault.fault for fault in FAULTS
    ]


def recommended(done: Ended) -> list[str]:
    """The command below the finding, as a user would copy it."""
    # a long one goes on behind a backslash
    lines = map(str.strip, done.err.replace("\\\n", " ").splitlines())
    command = next(line for line in lines if line.startswith("mmeval score "))
    return shlex.split(command)[1:]


def result(tmp_path: Path) -> dict[str, Any]:
    [row] = [row for row in results(tmp_path)["mmeval"]["results"] if not row["slice"]]
    found: dict[str, Any] = row
    return found


def test_a_judge_that_dies_suspends_scoring_and_the_command_that_is_named_asks_only_what_is_missing(
    tmp_path: Path,
) -> None:
    env = toy_environment(tmp_path / "site")
    with (
        server_process(reply="yes", hold_after=30) as jury,
        MockServer(latency=LATENCY) as server,
    ):
        words = [*asking(tmp_path), *openai(server)]
        words += [
            "--role",
            f"judge=openai,base_url={jury.url},model=j,max_connections=2",
        ]
        write_judged(tmp_path / "tasks", "ask", range(SAMPLES))
        with impatient_process(*words, env=env) as process:
            wait_for(
                lambda: (
                    (jury.stats()["answered"], jury.stats()["in_flight"]) == (30, 2)
                ),
                "30 verdicts",
            )
            jury.kill()
            out, err = process.communicate(timeout=DEADLINE)
        done, found = Ended(process.returncode, out, err), result(tmp_path)
        missing = SAMPLES - found["scored"]

        assert done.code == 3
        assert server.stats()["answered"] == SAMPLES
        assert found["scored"] == 30
        assert (found["value"], found["stderr"], found["ci95"]) == (None, None, None)
        assert (found["suspended"], found["unscored"]) == (True, missing)
        assert found["bounds"] == pytest.approx([found["scored"] / SAMPLES, 1.0])
        assert " -  " in done.out
        assert f"{missing} of {SAMPLES} scoring stopped" in " ".join(done.err.split())

        jury.start(hold_after=-1)
        again = mmeval_process(*recommended(done), env=env)
        assert again.code == 0, again.err
        assert jury.stats()["answered"] == missing
        assert server.stats()["requests"] == SAMPLES
        assert (result(tmp_path)["value"], result(tmp_path)["scored"]) == (1.0, SAMPLES)
