"""Real worker processes, as few as show what only a process can; kills in numbers are
in tests/soak."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_pool import worker_jobs
from mmeval.broker.worker_service import (
    BatchDone,
    WorkerJob,
    WorkerMessage,
    WorkerService,
)
from mmeval.errors import (
    EXIT_MISSING,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    StartFailedError,
    StorageError,
    UsageError,
)
from mmeval.records.request import Request
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.store.call_context import CallContext
from mmeval.store.journal import Journal
from mmeval.system.json_lines import from_line
from tests.support.parallel import ToyParallel, answered, notes
from tests.support.toy import request, run_toy, sample, task

pytestmark = pytest.mark.usefixtures("toys")


def run(folder: Path, *texts: str, copies: int = 1, **args: Any) -> RunOutcome:
    """A run of questions by copies of the toy model."""
    rows = [
        sample(f"s{i}", text, text.replace("question", "answer"))
        for i, text in enumerate(texts)
    ]
    model = BackendSpec(
        "toy_parallel", {"folder": str(folder), "copies": copies, **args}
    )
    return run_toy(folder, task(rows=rows), model=model, max_unscored=1000.0)


def questions(count: int) -> list[str]:
    return [f"question {i}" for i in range(count)]


def lines(folder: Path) -> list[dict[str, Any]]:
    files = folder.glob("runs/*/default/journal/*.jsonl")
    return [
        from_line(line) for file in files for line in file.read_bytes().splitlines()
    ]


def test_a_model_that_cannot_be_loaded_ends_the_run_and_blames_no_sample(
    tmp_path: Path,
) -> None:
    with pytest.raises(StartFailedError, match="weights") as error:
        run(tmp_path, *questions(3), copies=0, broken="missing")
    assert (error.value.exit_code, lines(tmp_path)) == (4, [])
    again = run(tmp_path, *questions(3), copies=0)
    assert (again.counts.new, again.counts.kept, again.counts.failed) == (3, 0, 0)
    judge = BackendSpec("toy_parallel", {"folder": str(tmp_path), "broken": "missing"})
    outcome = run_toy(
        tmp_path, task(metrics=["exact_match", "toy_verdict"]), roles={"judge": judge}
    )
    assert (outcome.exit_code, outcome.counts.new) == (4, 3), (
        "of a judge it suspends the scores"
    )
    (lost,) = outcome.findings
    assert (lost.subject.metric, lost.count) == ("toy_verdict", 3)


def batch(*requests: Request, warnings: tuple[str, ...] = ()) -> list[BatchRow]:
    return [
        BatchRow(one, CallContext("t", f"k{i}", warnings=warnings))
        for i, one in enumerate(requests)
    ]


@contextmanager
def service(job: WorkerJob) -> Iterator[tuple[WorkerService, list[Any]]]:
    """A service in this process, and what it tells."""
    told: list[Any] = []
    made = WorkerService(job, told.append)
    yield made, told
    made.close()


def job(folder: Path, **args: Any) -> WorkerJob:
    backend = ToyParallel(folder=str(folder), copies=1)
    (made,) = worker_jobs(
        "model",
        backend,
        "toy_parallel",
        {"folder": str(folder), **args},
        folder / "run",
    )
    return made


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ({"broken": "missing"}, EXIT_MISSING, "weights"),
        ({"broken": "crash"}, EXIT_UNEXPECTED, "RuntimeError: no such luck"),
        ({"drift": True}, EXIT_USAGE, "identity"),
        ({"copy": 0, "copies": 2}, EXIT_USAGE, "'copies': 2"),
    ],
    ids=str,
)
def test_a_worker_that_cannot_start(
    args: Any, code: int, message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(logging.getLogger("mmeval"), "handlers", [])
    made = job(tmp_path)
    with service(replace(made, args={**made.args, **args})) as (broken, told):
        assert not broken.open()
    (heard,) = told
    assert (heard.exit_code, message in str(heard)) == (code, True)
    with service(made) as (well, told):
        assert well.open()
        assert told == [
            WorkerMessage(logging.WARNING, "this model is a toy"),
            well.segment.path,
        ]


def test_a_worker_writes_an_answer_before_it_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("disk full")

    monkeypatch.setattr(logging.getLogger("mmeval"), "handlers", [])
    with service(job(tmp_path)) as (at, told):
        at.open()
        told.clear()
        assert at.answer(
            batch(request("question 1"), request("odd 2"), warnings=("made smaller",))
        )
        good, odd, done = told
        assert (good.position, good.response.text, good.response.warnings) == (
            0,
            "answer 1",
            ("made smaller",),
        )
        assert good.written.line in at.segment.path.read_bytes()
        assert (odd.position, odd.written, odd.response.error.kind, done) == (
            1,
            None,
            "internal",
            BatchDone(0),
        )
        told.clear()
        monkeypatch.setattr(at.segment, "keep", full)
        assert at.answer(batch(request("question 3"), request("question 4")))
    assert (repr(told), answered(tmp_path)[1:]) == (
        "[StorageError('disk full')]",
        ["question 1", "question 3"],
    )


def test_a_row_is_reported_while_its_batch_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note(journal: Journal, *row: Any) -> None:
        (tmp_path / "go").touch()
        adopt(journal, *row)

    adopt = Journal.adopt
    monkeypatch.setattr(Journal, "adopt", note)
    outcome = run(tmp_path, *questions(4), most=1)
    assert (outcome.counts.new, [note.text for note in notes(tmp_path, "begin")]) == (
        4,
        ["4"],
    )


def test_an_answer_that_cannot_be_written_fails_its_own_row_alone_in_this_process_too(
    tmp_path: Path,
) -> None:
    outcome = run(tmp_path, "question 0", "odd 1", "question 2", copies=0)
    assert (
        outcome.counts.new,
        outcome.counts.failed,
        len(notes(tmp_path, "start")),
    ) == (2, 1, 1)


def test_copies_that_other_processes_cannot_make_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ToyParallel(folder=str(tmp_path), copies=2)
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, task(), model=BackendSpec("toy_parallel", instance=made))
    assert caught.value.name == "model"
    mine = plugins._RegisteredPlugin("mmeval.model_backends", "mine", ToyParallel)
    monkeypatch.setitem(plugins._of_script["mmeval.model_backends"], "mine", mine)
    with pytest.raises(UsageError) as caught:
        run_toy(
            tmp_path,
            task(),
            model=BackendSpec("mine", {"folder": str(tmp_path), "copies": 2}),
        )
    assert (caught.value.name, (tmp_path / "runs").exists()) == ("mine", False)
