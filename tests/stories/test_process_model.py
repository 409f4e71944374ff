"""Runs of a model in a process of its own: what is loaded before a run, and where keys
are."""

import json
import shlex
from pathlib import Path

import pytest

from tests.support.backend_runs import ProcessRuns, bad_command, noted
from tests.support.cli import gone, mmeval, mmeval_process

ROWS = [f"question {i}" for i in range(12)]


@pytest.mark.parametrize("command", ["dry run", "check"])
def test_before_a_run_the_worker_says_hello_and_loads_nothing(
    command: str, tmp_path: Path
) -> None:
    runs = ProcessRuns(tmp_path, ROWS)
    flags = (
        runs.command("none", "--dry_run")
        if command == "dry run"
        else ["check", *runs.command()[-4:]]
    )
    assert mmeval(*flags).code == 0
    assert (runs.loads(), len(runs.processes()) > 0, gone(runs.processes())) == (
        0,
        True,
        True,
    )


KEYS = {
    "an argument": "sk-argument-1",
    "an option": "sk-option-2",
    "a variable": "sk-variable-3",
}


def test_no_file_of_a_run_holds_a_key_of_args_env_or_command(tmp_path: Path) -> None:
    runs = ProcessRuns(tmp_path, ROWS)
    words = shlex.join(bad_command("repeats keys", runs.notes, "0"))
    arguments = {
        "name": "m",
        "command": f"{words} --api-key {KEYS['an option']}",
        "env": {"MY_TOKEN": KEYS["a variable"]},
        "args": {"inner": {"api_key": KEYS["an argument"]}},
    }
    flags = runs.command("none", "--log_samples")
    flags[flags.index("--model_args") + 1] = json.dumps(arguments)
    ended = mmeval_process(*flags)
    assert ended.code == 0, ended.err
    files = [file for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    holding = {
        (name, str(file.relative_to(tmp_path)))
        for name, key in KEYS.items()
        for file in files
        if key.encode() in file.read_bytes()
    }
    assert holding == set()
    assert "***" in runs.log()
    assert KEYS["an argument"] in noted(runs.notes, "loads")[0]
