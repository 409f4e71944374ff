"""Judging from outside: two judges, re-judging, wording, repeats, lost verdicts and prompts, over real sockets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ROOT, Ended, environment, mmeval_process, openai, results, run_folder
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer

ROWS = 3
CRITERIA = ["It greets.", {"id": "short", "criterion": "It is short.", "weight": 3}]
TASK = """\
task: greet
dataset_path: data
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""


@dataclass
class Judged:
    """A task of three rows with a rubric of two criteria each, a model, and the command that runs it."""

    folder: Path
    model: MockServer

    def rows(self, *criteria: Any) -> None:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        rows = ({"id": str(i), "input": f"Greet guest {i}.", "rubric": list(criteria)} for i in range(ROWS))
        (data / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def task(self, text: str) -> None:
        (self.folder / "greet.yaml").write_text(text)

    @property
    def words(self) -> list[str | Path]:
        return ["--tasks", self.folder / "greet.yaml", "--output_path", self.folder / "runs", *openai(self.model)]

    def run(self, *flags: str | Path) -> Ended:
        return mmeval_process(*self.words, *flags)

    def score(self, *flags: str | Path) -> Ended:
        return mmeval_process("score", run_folder(self.folder / "runs"), *flags)

    def value(self) -> float | None:
        found: float | None = results(self.folder / "runs")["results"]["greet"]["rubric_judge,none"]
        return found

    def score_rows(self) -> list[dict[str, Any]]:
        newest = max((self.folder / "runs").rglob("scores.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line)["scores"]["rubric_judge"] for line in newest.read_text().splitlines()]


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    with MockServer() as model:
        made = Judged(tmp_path, model)
        made.rows(*CRITERIA)
        made.task(TASK)
        yield made


def requests(server: MockServer) -> int:
    return int(server.stats()["requests"])


@pytest.mark.parametrize("answers", [5, 8])
def test_a_run_that_is_killed_while_it_judges_asks_nothing_twice_that_was_answered(
    judged: Judged, answers: int
) -> None:
    with judge_server(judged.folder / "kind") as kind:
        arguments = [str(word) for word in (*judged.words, *judge(kind))]
        child = [
            sys.executable,
            "-m",
            "tests.support.dying",
            "line",
            str(answers),
            *arguments,
            "--max_connections",
            "1",
        ]
        env = environment(PYTHONPATH=str(ROOT))
        died = subprocess.run(child, env=env, cwd=ROOT, capture_output=True, timeout=120).returncode
        done = judged.run(*judge(kind))

        assert (died, done.code, judged.value()) == (-signal.SIGKILL, 0, 1.0), done.err
        asked_again = [server.stats()["repeated_after_answer"] for server in (kind, judged.model)]
        assert asked_again == [0, 0], "a question that was under way when it died has no answer, and may be asked again"
