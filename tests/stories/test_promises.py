"""What a run promises, tried from outside: nothing is asked twice, and the exit code
tells the truth."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import (
    KEY,
    QUIET,
    command,
    environment,
    mmeval,
    mmeval_process,
    openai,
    results,
    run_folder,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import questions
from tests.support.readers import latest, read_samples
from tests.support.servers import Scripted, ScriptedServer


def counts(folder: Path) -> tuple[Any, ...]:
    """Of the first number: its value, and how many trials there are, scored, failed and
    unsupported."""
    row = results(folder)["mmeval"]["results"][0]
    return tuple(
        row[name] for name in ("value", "n", "scored", "failed", "unsupported")
    )


def test_the_same_command_and_a_later_scoring_send_nothing_and_agree(
    server: MockServer, tmp_path: Path
) -> None:
    arguments = [*questions(tmp_path), *openai(server), "--log_samples"]
    first = mmeval(*arguments)
    numbers = counts(tmp_path)
    rows = len(read_samples(latest(tmp_path)[1]["ask"]))
    again = mmeval(*arguments)
    score = mmeval("score", run_folder(tmp_path / "runs"), *QUIET)
    assert first.code == 0, first.err
    assert rows == 12
    assert server.stats()["requests"] == 12
    assert server.stats()["unique"] == 12
    assert again.code == 0, again.err
    assert score.code == 0
    assert server.stats()["requests"] == 12
    assert counts(tmp_path) == numbers
    assert " 12 " in again.lines[0]


@pytest.mark.parametrize("status", [200, 400, 500])
def test_the_key_is_nowhere_although_the_server_repeats_it(
    status: int, tmp_path: Path
) -> None:
    said = f"the header was Authorization: Bearer {KEY}"
    answer = (
        {"choices": [{"message": {"content": said}}]}
        if status == 200
        else {"error": {"message": said}}
    )
    with ScriptedServer(Scripted(answer, status)) as server:
        model = ["--model", "openai", "--model_args", f"base_url={server.url},model=m"]
        rest = [
            "--retry_on_error",
            "0",
            "--log_samples",
            "--verbosity",
            "DEBUG",
            "--use_cache",
            str(tmp_path / "c"),
        ]
        done = mmeval(*questions(tmp_path, (1, 2)), *model, *rest, "--report", "true")
        assert any(KEY in value for value in server.seen[0].headers.values())
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (done.code, len(written) > 10) == (0 if status == 200 else 3, True)
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in done.out + done.err


def test_a_run_writes_nowhere_but_into_its_folder(
    server: MockServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    arguments = questions(tmp_path)
    done = mmeval_process(
        *arguments,
        *openai(server),
        cwd=home,
        env=environment(HOME=str(home), TMPDIR=str(home)),
    )
    assert (done.code, list(home.iterdir())) == (0, []), done.err


def test_a_listing_into_head_ends_quietly() -> None:
    listing = " ".join(command("ls", "tasks"))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{listing} | head -1"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


def test_a_run_whose_reader_is_gone_still_tells_its_exit_code(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    streams: dict[str, Any] = {
        "capture_output": False,
        "stdout": writing,
        "stderr": subprocess.PIPE,
    }
    try:
        with MockServer(rate_malformed=1.0) as server:
            done = mmeval_process(
                *questions(tmp_path),
                *openai(server),
                "--retry_on_error",
                "0",
                **streams,
            )
        help = mmeval_process("--help", **streams)
    finally:
        os.close(writing)
    assert (done.code, results(tmp_path)["mmeval"]["exit_code"]) == (3, 3)
    assert (help.code, help.err) == (0, "")
