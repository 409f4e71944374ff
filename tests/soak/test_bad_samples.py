"""Samples that cannot be put to a model: each costs itself alone, is named with its file and row, and is asked by the
same command once its data are mended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import environment, mmeval_process, openai, results, run_folder
from tests.support.killing import killed_once
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_task

BAD = {"id": "1", "input": "<<image1>>", "media": {"image1": "gone.png"}, "reference": "answer 1", "level": "hard"}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def question(number: int) -> dict[str, Any]:
    return {"id": str(number), "input": f"question {number}", "reference": f"answer {number}", "level": "easy"}


def write(folder: Path, *bad: int, count: int = 3) -> list[str | Path]:
    """A task of so many questions, of which some lack their picture; the flags that name it."""
    rows = [{**BAD, "id": str(n)} if n in bad else question(n) for n in range(count)]
    tasks = write_task(folder / "tasks", "ask", rows, more="breakdown: [level]\n")
    return ["--tasks", "ask", "--include_path", tasks, "--output_path", folder / "runs"]


def test_a_run_with_bad_samples_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    flags = write(tmp_path, 1, 7, count=40)
    with MockServer(latency=0.05) as server:
        flags += [*openai(server), "--max_connections", "4"]
        killed_once(lambda: server.stats()["answered"] >= 10, flags, server, tmp_path / "runs", environment())
        server.state.settings.latency = 0.0
        resumed = mmeval_process(*flags)
        write(tmp_path, count=40)
        mended = mmeval_process(*flags)

        assert (resumed.code, mended.code) == (3, 0), mended.err
        assert "kept 38 answers" in mended.err and "asking 2 new" in mended.err
        assert server.stats()["repeated_after_answer"] == 0
    assert results(run_folder(tmp_path / "runs"))["mmeval"]["results"][0]["scored"] == 40
