"""A process that is killed while it keeps the outcome of its run."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.finished_run import TEMPLATE, FinishedRun
from tests.support.mock_openai_server import MockServer

KILLED = """\
import os, signal, sys
from pathlib import Path

moment, *words = sys.argv[1:]
write, replace = Path.write_bytes, Path.replace

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def killed_write(path, data):
    if path.parent.name == "kept" and moment == "while its file is written":
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        kill()
    return write(path, data)

def killed_replace(path, target):
    is_kept = target.parent.name == "kept"
    if is_kept and moment == "before its file has its name":
        kill()
    replaced = replace(path, target)
    if is_kept and moment == "after its file has its name":
        kill()
    return replaced

Path.write_bytes, Path.replace = killed_write, killed_replace
from mmeval.__main__ import main
sys.exit(main(words))
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[FinishedRun]:
    with MockServer(reply=TEMPLATE) as server:
        yield FinishedRun(tmp_path, server)


@pytest.mark.parametrize(
    ("moment", "sessions"),
    [
        ("while its file is written", 3),
        ("before its file has its name", 3),
        ("after its file has its name", 2),
    ],
)
def test_a_killed_process_leaves_a_whole_outcome_or_none(
    moment: str, sessions: int, run: FinishedRun
) -> None:
    expected = run.again().out.splitlines()[:3]
    rmtree(run.path / "kept")
    words = [sys.executable, "-c", KILLED, moment, *map(str, run.command)]
    killed = subprocess.run(words, cwd=ROOT, env=environment(), check=False)
    assert killed.returncode == -signal.SIGKILL
    again = mmeval_process(*run.command, env=environment())
    assert again.out.splitlines()[:3] == expected
    assert run.sessions == sessions


def test_a_folder_in_place_of_the_kept_file_does_not_stop_a_run(
    run: FinishedRun,
) -> None:
    (file,) = run.files("kept")
    file.unlink()
    file.mkdir()
    assert run.again().code == 0
