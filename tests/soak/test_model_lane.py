"""Runs whose metrics use models, from outside: killed and continued, scored again, many cases at once."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.support.cli import DEADLINE, Ended, environment, mmeval_process, results, started, wait_for
from tests.support.questions import write_task
from tests.support.task_folder import write_files
from tests.support.toy_weights import MODEL, Note, notes, registered

ROWS = 24


class Runs:
    """A task of ``ROWS`` questions whose answers a model scores."""

    def __init__(self, folder: Path, answer: str = "yes") -> None:
        self.folder, self.notes_file = folder, folder / "notes"
        write_files(folder / "model", MODEL)
        rows = (
            {"id": str(i), "input": f"question {i}", "reference": f"{answer}" if i % 2 else "no"} for i in range(ROWS)
        )
        metric = f"batched\n    model: {folder / 'model'}"
        self.tasks = write_task(folder / "tasks", "modelled", rows)
        file = self.tasks / "modelled.yaml"
        file.write_text(file.read_text().replace("exact_match", metric))
        self.env = environment(PYTHONPATH=registered(folder / "site"), TOY_NOTES=str(self.notes_file))

    def words(self, *flags: str) -> list[str]:
        where = ["--include_path", str(self.tasks), "--output_path", str(self.folder / "runs")]
        return ["--tasks", "modelled", "--model", "reference", *where, *flags]

    def run(self, *flags: str) -> Ended:
        return mmeval_process(*self.words(*flags), env=self.env)

    def of(self, what: str) -> list[Note]:
        return notes(self.notes_file, what)

    @property
    def number(self) -> Any:
        return results(self.folder / "runs")["results"]["modelled"]["batched,none"]

    @property
    def rows(self) -> list[tuple[int, Any]]:
        (file,) = (self.folder / "runs").rglob("scores.jsonl")
        found = map(json.loads, file.read_text().splitlines())
        return [(row["i"], row["scores"]["batched"]["value"]) for row in found]


WHOLE = [(i, float(i % 2)) for i in range(ROWS)]


def test_a_run_that_is_killed_while_models_score_scores_the_rest_when_it_is_continued(tmp_path: Path) -> None:
    runs = Runs(tmp_path, answer="yes slow 0.2")
    with started(*runs.words(), env=runs.env) as running:
        wait_for(lambda: len(runs.of("batch")) >= 4, "rows of the first batches")
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(DEADLINE)
    (killed,) = {note.process for note in runs.of("batch")}

    assert runs.run().code == 0
    assert runs.rows == WHOLE
    again = [int(note.more) for note in runs.of("batch") if note.process != killed]
    assert 0 < sum(again) < ROWS, "what was scored is kept"


def test_a_process_with_models_that_is_killed_is_replaced_and_every_answer_is_scored(tmp_path: Path) -> None:
    runs = Runs(tmp_path, answer="yes slow 0.2")
    with started(*runs.words(), env=runs.env) as running:
        wait_for(lambda: len(runs.of("batch")) >= 2, "two batches")
        os.kill(runs.of("batch")[-1].process, signal.SIGKILL)
        code = running.process.wait(DEADLINE)

    assert (code, runs.rows) == (0, WHOLE)
    assert len({note.process for note in runs.of("load")}) >= 2


def metric(folder: Path, *words: str | Path, **more: str) -> tuple[Ended, Path]:
    """``mmeval metric batched`` with a model; where it noted what it did."""
    write_files(folder / "model", MODEL)
    file = folder / "notes"
    env = environment(PYTHONPATH=registered(folder / "site"), TOY_NOTES=str(file), **more)
    return mmeval_process("metric", "batched", *words, env=env, cwd=folder), file
