"""Real worker processes, as few as show what only a process can; kills in numbers are in tests/soak."""

import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.broker.batcher import BatchRow
from mmeval.broker.worker_pool import worker_jobs
from mmeval.broker.worker_process import BatchDone, FromWorker, WorkerJob, WorkerMessage, _Desk, _started
from mmeval.errors import EXIT_MISSING, EXIT_UNEXPECTED, EXIT_USAGE, StartFailedError, StorageError, UsageError
from mmeval.records.request import Request
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.store.media_store import MediaStore
from mmeval.store.segment import Segment
from mmeval.store.ticket import Ticket
from mmeval.system.json_lines import from_line
from tests.support.parallel import ToyParallel, answered, notes
from tests.support.toy import request, run_toy, sample, task

pytestmark = pytest.mark.usefixtures("toys")


def run(folder: Path, *texts: str, copies: int = 1, **args: Any) -> RunOutcome:
    """A run of questions by copies of the toy model."""
    rows = [sample(f"s{i}", text, text.replace("question", "answer")) for i, text in enumerate(texts)]
    model = BackendSpec("toy_parallel", {"folder": str(folder), "copies": copies, **args})
    return run_toy(folder, task(rows=rows), model=model, max_unscored=1000.0)


def questions(count: int) -> list[str]:
    return [f"question {i}" for i in range(count)]


def lines(folder: Path) -> list[dict[str, Any]]:
    files = folder.glob("runs/*/default/journal/*.jsonl")
    return [from_line(line) for file in files for line in file.read_bytes().splitlines()]


def test_two_copies_answer_each_into_a_segment_of_its_own_and_what_they_answered_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.broker.worker._logged", set())
    outcome = run(tmp_path, "<think>hm</think>question 0", *questions(16)[1:], copies=2)
    assert (outcome.exit_code, outcome.counts.new, len(answered(tmp_path))) == (0, 16, 16)
    assert [bill.spent.calls for bill in outcome.bills] == [16]
    assert {note.copy for note in notes(tmp_path, "answer")} == {1, 2}
    assert os.getpid() not in {note.pid for note in notes(tmp_path, "answer")}
    assert sorted(note.copy for note in notes(tmp_path, "close")) == [0, 1, 2]
    assert len([*tmp_path.glob("runs/*/default/journal/*.jsonl")]) == 3, "one is that of this process"
    # The answer with its reasoning in it is written by the worker, and again as it is kept.
    assert len(lines(tmp_path)) == 17
    (kept,) = (line for line in lines(tmp_path) if "w" not in line)
    assert (kept["to"], [part["type"] for part in kept["r"]["output"]]) == ([], ["reasoning", "text"])
    assert caplog.messages == ["this model is a toy"]
    assert "a model may print" not in capfd.readouterr().out
    logs = [file.read_text() for file in tmp_path.glob("runs/*/default/workers/model-*.log")]
    assert ["a model may print" in log for log in logs] == [True, True]
    again = run(tmp_path, "<think>hm</think>question 0", *questions(16)[1:], copies=2, broken="missing")
    assert (again.counts.kept, len(notes(tmp_path, "start"))) == (16, 2), "nothing is loaded"


def test_a_model_that_cannot_be_loaded_ends_the_run_and_blames_no_sample(tmp_path: Path) -> None:
    with pytest.raises(StartFailedError, match="weights") as error:
        run(tmp_path, *questions(3), copies=0, broken="missing")
    assert (error.value.exit_code, lines(tmp_path)) == (4, [])
    again = run(tmp_path, *questions(3), copies=0)
    assert (again.counts.new, again.counts.kept, again.counts.failed) == (3, 0, 0)
    judge = BackendSpec("toy_parallel", {"folder": str(tmp_path), "broken": "missing"})
    outcome = run_toy(tmp_path, task(metrics=["exact_match", "toy_verdict"]), roles={"judge": judge})
    assert (outcome.exit_code, outcome.counts.new) == (4, 3), "of a judge it suspends the scores"
    (complaint,) = outcome.complaints
    assert ("toy_verdict" in complaint, "3 trials" in complaint) == (True, True)


class Parent:
    """Gives one batch, and keeps what it is told."""

    def __init__(self, *requests: Request, remarks: tuple[str, ...] = ()) -> None:
        self.heard: list[Any] = []
        self._batch = [BatchRow(one, Ticket("t", f"k{i}", remarks=remarks)) for i, one in enumerate(requests)]

    def tell(self, message: FromWorker) -> None:
        self.heard.append(message)

    def batches(self) -> Iterator[list[BatchRow]]:
        yield self._batch


def job(folder: Path, **args: Any) -> WorkerJob:
    backend = ToyParallel(folder=str(folder), copies=1)
    (made,) = worker_jobs("model", backend, "toy_parallel", {"folder": str(folder), **args}, folder / "run")
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
def test_a_worker_that_cannot_start(args: Any, code: int, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(logging.getLogger("mmeval"), "handlers", [])
    made, parent, well = job(tmp_path), Parent(), Parent()
    backend = _started(replace(made, args={**made.args, **args}), parent)  # type: ignore[arg-type]
    (heard,) = parent.heard
    assert (backend, heard.exit_code, message in str(heard)) == (None, code, True)
    assert isinstance(_started(made, well), ToyParallel)  # type: ignore[arg-type]
    assert well.heard == [WorkerMessage(logging.WARNING, "this model is a toy")]


def test_a_worker_writes_an_answer_before_it_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageError("disk full")

    parent = Parent(request("question 1"), request("odd 2"), remarks=("made smaller",))
    segment = Segment(tmp_path / "journal", MediaStore(tmp_path / "media"))
    _Desk(ToyParallel(folder=str(tmp_path)), segment, parent).serve()  # type: ignore[arg-type]
    segment.close()
    good, odd, done = parent.heard
    assert (good.position, good.response.text, good.response.warnings) == (0, "answer 1", ("made smaller",))
    assert good.written.line in segment.path.read_bytes()
    assert (odd.position, odd.written, odd.response.error.kind, done) == (1, None, "internal", BatchDone(0))
    parent = Parent(request("question 3"), request("question 4"))
    monkeypatch.setattr(segment, "keep", full)
    _Desk(ToyParallel(folder=str(tmp_path)), segment, parent).serve()  # type: ignore[arg-type]
    assert (repr(parent.heard), answered(tmp_path)[1:]) == ("[StorageError('disk full')]", ["question 1", "question 3"])


def test_an_answer_that_cannot_be_written_fails_its_own_row_alone_in_this_process_too(tmp_path: Path) -> None:
    outcome = run(tmp_path, "question 0", "odd 1", "question 2", copies=0)
    assert (outcome.counts.new, outcome.counts.failed, len(notes(tmp_path, "start"))) == (2, 1, 1)


def test_copies_that_other_processes_cannot_make_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ToyParallel(folder=str(tmp_path), copies=2)
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, task(), model=BackendSpec("toy_parallel", instance=made))
    assert caught.value.name == "model"
    mine = plugins._Registered("mmeval.model_backends", "mine", ToyParallel)
    monkeypatch.setitem(plugins._of_script["mmeval.model_backends"], "mine", mine)
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, task(), model=BackendSpec("mine", {"folder": str(tmp_path), "copies": 2}))
    assert (caught.value.name, (tmp_path / "runs").exists()) == ("mine", False)
