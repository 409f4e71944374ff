"""The worker that ``mmeval init worker`` writes, in an environment without mmeval."""

import json
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.backend_runs import own_worker
from tests.support.cli import QUIET, mmeval

KINDS = ("text", "image", "audio")


def other_python() -> str:
    """The oldest Python from 3.8 on that works here, which is the running one where
    there is no other."""
    for minor in range(8, sys.version_info.minor):
        found = shutil.which(f"python3.{minor}")
        if (
            found
            and subprocess.run(
                [found, "-c", "import venv"], capture_output=True
            ).returncode
            == 0
        ):
            return found
    return sys.executable


@pytest.fixture
def worker(tmp_path: Path) -> str:
    """The value of ``--model_args``; the environment has the standard library alone."""
    environment = tmp_path / "environment"
    subprocess.run(
        [other_python(), "-m", "venv", "--without-pip", environment], check=True
    )
    python = environment / "bin" / "python"
    assert (
        subprocess.run(
            [python, "-c", "import mmeval"], capture_output=True, cwd=tmp_path
        ).returncode
        == 1
    )
    return f'command="{python} {own_worker(tmp_path)}"'


def test_it_keeps_the_rules_of_every_backend(worker: str) -> None:
    ended = mmeval(
        "try", "backend", "process", "--model_args", worker, "--wants", "+".join(KINDS)
    )
    assert ended.code == 0, ended.out


def test_the_tasks_of_the_demo_run_on_it_with_text_pictures_and_sounds_in_order(
    worker: str, tmp_path: Path
) -> None:
    tasks = (
        "--tasks",
        "unim_hard,mmmg_audio",
        "--data",
        "bundled",
        "--output_path",
        tmp_path,
    )
    ended = mmeval(
        *tasks, *QUIET, "--model", "process", "--model_args", worker, "--log_samples"
    )
    assert ended.code == 0, ended.err
    lines = [
        line
        for file in tmp_path.rglob("samples_*.jsonl")
        for line in file.read_text("utf-8").splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    answers = [parts for row in rows for parts in row["parts"] if parts is not None]
    assert {order(parts) for parts in answers} == {KINDS, ("audio",)}
    faults = {error["message"] for row in rows for error in row["error"] if error}
    assert faults == {
        f"the model takes no {kind}" for kind in ("video", "document", "3d")
    }


def order(parts: list[dict[str, str]]) -> tuple[str, ...]:
    """The kinds of an answer's parts; code, which the words of a prompt hold, belongs
    to the words."""
    return tuple(
        kind
        for kind, _ in groupby(
            "text" if part["type"] == "code" else part["type"] for part in parts
        )
    )
