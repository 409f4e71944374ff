"""A finished run answers the same command from what it has kept, and never with a stale
number."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import QUIET, Ended, environment, mmeval, openai
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

TASK = """\
task: look
loader: interleaved
dataset_path: data
output_modalities: [text]
generation_kwargs: {max_gen_toks: 16}
metadata: {version: 1.0}
metric_list:
  - metric: exact_match
"""
ROWS = 3
RESULTS = "results_*.json"


class Run:
    """A finished run, and the command that made it."""

    def __init__(self, folder: Path, server: MockServer) -> None:
        self.folder = folder
        self._server = server
        (folder / "data" / "img").mkdir(parents=True)
        (folder / "look.yaml").write_text(TASK)
        (folder / "data" / "img" / "a.png").write_bytes(picture())
        self.write_rows(["yes"] * ROWS)

    def write_rows(self, references: list[str]) -> None:
        rows = []
        for number, reference in enumerate(references):
            question = {
                "text": f"{number} <<image1>>",
                "media": {"image1": "img/a.png"},
            }
            rows.append({"id": str(number), "input": question, "reference": reference})
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "data" / "test.jsonl").write_text(lines)

    def again(self, *flags: str) -> Ended:
        return mmeval(
            "--tasks",
            "look",
            "--include_path",
            self.folder,
            "--output_path",
            self.folder / "runs",
            *QUIET,
            *openai(self._server, model="m", outputs="text"),
            *flags,
            env=environment(),
        )

    @property
    def path(self) -> Path:
        return self.folder / "runs" / "m" / "default"

    @property
    def sessions(self) -> int:
        """How often the run was read or made, which its record counts."""
        return len(json.loads((self.path / "run.json").read_bytes())["sessions"])


@pytest.fixture
def run(tmp_path: Path, server: MockServer) -> Run:
    run = Run(tmp_path, server)
    assert run.again().code == 0
    return run


def files_of(run: Run) -> Iterator[Path]:
    for path in run.path.rglob("*"):
        if path.is_file() and path.name != "run.lock":
            yield path


def test_the_same_command_reads_and_writes_nothing_of_a_finished_run(run: Run) -> None:
    first = run.again()
    before = {path: path.stat().st_mtime_ns for path in files_of(run)}

    second = run.again()

    assert second.code == 0
    assert second.out == first.out
    assert {path: path.stat().st_mtime_ns for path in files_of(run)} == before
    assert run.sessions == 1
    assert len(list(run.path.glob(RESULTS))) == 1
    assert "answers kept: 3 from" in second.err
    assert "nothing to ask" in second.err


@pytest.mark.parametrize(
    "name", ["journal", "samples", "trials", "scores", "run.json", "results_"]
)
def test_a_changed_file_of_the_run_is_read_again(run: Run, name: str) -> None:
    changed = [
        path
        for path in files_of(run)
        if str(path.relative_to(run.path)).startswith(name)
    ]
    assert changed
    for path in changed:
        state = path.stat()
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
        assert run.again().code == 0
        assert run.sessions > 1


def test_a_new_file_of_the_run_is_read_again(run: Run) -> None:
    (run.path / "journal" / "other-1-abcdef.jsonl").write_bytes(b"")
    run.again()
    assert run.sessions == 2


def test_a_damaged_record_of_the_outcome_only_costs_time(run: Run) -> None:
    (kept,) = (run.path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-20])
    assert run.again().code == 0
    assert run.sessions == 2


def test_changed_rows_are_scored_anew(run: Run) -> None:
    run.write_rows(["yes", "no", "yes"])
    run.again()
    assert run.sessions == 2


def test_a_changed_medium_of_the_data_is_asked_anew(run: Run) -> None:
    (run.folder / "data" / "img" / "a.png").write_bytes(picture(colour="blue"))
    run.again()
    assert run.sessions == 2


@pytest.mark.parametrize(
    "flags",
    [
        ("--limit", "2"),
        ("--bootstrap_iters", "500"),
        ("--refusals", "unscored"),
        ("--max_unscored", "1"),
        ("--gen_kwargs", "max_gen_toks=17"),
        ("--metric_args", '{"exact_match": {"ignore_case": true}}'),
        ("--retry_on_error", "3"),
    ],
    ids=lambda flags: flags[0],
)
def test_another_setting_is_another_command(run: Run, flags: tuple[str, ...]) -> None:
    ended = run.again(*flags)
    assert run.sessions == 2, ended.err


def test_a_run_that_was_moved_answers_at_once(run: Run) -> None:
    run.path.rename(run.path.with_name("moved"))
    run.path.with_name("moved").rename(run.path)
    run.again()
    assert run.sessions == 1
