from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.broker import worker_pool
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_MISSING,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    BackendDownError,
    StartFailedError,
    UsageError,
)
from mmeval.records.sample import Sample
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.system.json_lines import from_line
from mmeval.task.task import Task
from tests.support.parallel import ToyParallel, answered, notes
from tests.support.toy import registered, run_toy, sample, task

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def run(folder: Path, *texts: str, wants: tuple[str, ...] = ("text",), copies: int = 2, **args: Any) -> RunOutcome:
    """A run of questions by copies of the toy model."""
    rows = [sample(f"s{i}", text, text.replace("question", "answer")) for i, text in enumerate(texts)]
    model = BackendSpec("toy_parallel", {"folder": str(folder), "copies": copies, **args})
    return run_toy(folder, wanting(wants, rows), model=model, max_unscored=1000.0)


def wanting(wants: tuple[str, ...], rows: list[Sample]) -> Task:
    made = task(rows=rows)
    vars(made)["wanted"] = lambda _row: wants  # frozen for those who run it
    return made


def questions(count: int) -> list[str]:
    return [f"question {i}" for i in range(count)]


def journal_of(folder: Path) -> Path:
    (found,) = folder.glob("runs/*/default/journal")
    return found


def lines(folder: Path) -> list[dict[str, Any]]:
    return [from_line(line) for file in journal_of(folder).glob("*.jsonl") for line in file.read_bytes().splitlines()]


def test_copies_answer_side_by_side_each_into_a_segment_of_its_own(tmp_path: Path) -> None:
    outcome = run(tmp_path, *questions(16), delay=0.02)
    assert (outcome.exit_code, outcome.counts.new, answered(tmp_path)) == (0, 16, sorted(questions(16)))
    one, two = ([note.at for note in notes(tmp_path) if note.copy == copy] for copy in (1, 2))
    assert min(one) < max(two)
    assert min(two) < max(one)
    assert len(list(journal_of(tmp_path).glob("*.jsonl"))) == 2
    assert len(lines(tmp_path)) == 16
    assert sorted(note.copy for note in notes(tmp_path, "close")) == [0, 1, 2]


def test_this_process_loads_nothing_and_the_copies_share_the_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    run(tmp_path, *questions(2))
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert sorted((note.copy, note.text) for note in notes(tmp_path, "start")) == [(1, share), (2, share)]
    assert os.getpid() not in {note.pid for note in notes(tmp_path, "answer")}


def test_what_copies_have_answered_is_kept_and_counted_once(tmp_path: Path) -> None:
    first = run(tmp_path, *questions(6))
    second = run(tmp_path, *questions(8))
    assert (first.counts.new, second.counts.kept, second.counts.new) == (6, 6, 2)
    assert [bill.spent.calls for bill in (*first.bills, *second.bills)] == [6, 8]
    third = run(tmp_path, *questions(8))
    assert (third.counts.kept, third.counts.new, len(notes(tmp_path, "start"))) == (8, 0, 4)


def test_what_becomes_of_an_answer_later_is_a_line_that_cost_no_call(tmp_path: Path) -> None:
    outcome = run(tmp_path, "<think>hm</think>question 1")
    raw, kept = sorted(lines(tmp_path), key=lambda line: "w" not in line)
    assert (raw["to"][0], kept["to"]) == ("model", [])
    assert [part["type"] for part in kept["r"]["output"]] == ["reasoning", "text"]
    assert [bill.spent.calls for bill in outcome.bills] == [1]
    assert run(tmp_path, "<think>hm</think>question 1").counts.kept == 1


def test_warnings_of_copies_are_heard_once_and_their_output_goes_to_their_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.broker.worker._logged", set())
    run(tmp_path, *questions(2))
    assert [record.getMessage() for record in caplog.records] == ["this model is a toy"]
    assert "a model may print" not in capfd.readouterr().out
    logs = [file.read_text() for file in sorted(tmp_path.glob("runs/*/default/workers/model-*.log"))]
    assert ["a model may print what it likes" in log for log in logs] == [True, True]


# --- death -------------------------------------------------------------------------------------------------------


def test_a_copy_that_dies_is_started_again_and_what_it_has_answered_is_not_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [*questions(4), "question once 4", *questions(12)[5:]]
    outcome = run(tmp_path, *texts, copies=1)
    assert (outcome.exit_code, outcome.counts.new, outcome.counts.failed) == (0, 12, 0)
    assert answered(tmp_path) == sorted(texts)
    assert len({note.pid for note in notes(tmp_path, "start")}) == 2
    (said,) = (record.getMessage() for record in caplog.records if "killed" in record.getMessage())
    assert re.fullmatch(
        r"worker 1 of 1 \(model\) was killed by SIGKILL \(often because memory ran out\); its log is .*/model-1\.log\. "
        r"It is started again; \d calls? (is|are) asked again",
        said,
    )


def test_an_answer_that_this_process_cannot_read_harms_no_other(tmp_path: Path) -> None:
    texts = ["question 0", "garbled 1", *questions(8)[2:]]
    outcome = run(tmp_path, *texts, copies=1, max_batch_size=8)
    assert (outcome.counts.new, outcome.counts.failed) == (8, 0)
    assert answered(tmp_path).count("garbled 1") == 1, "it was written, so it is not asked again"
    scores = (from_line(line) for file in tmp_path.rglob("scores.jsonl") for line in file.read_bytes().splitlines())
    assert [row["scores"]["exact_match"]["value"] for row in sorted(scores, key=lambda row: row["i"])] == [1.0] * 8


def test_a_row_during_which_a_copy_dies_twice_fails_and_harms_no_other(tmp_path: Path) -> None:
    outcome = run(tmp_path, "question 0", "deadly 1", "question 2")
    assert (outcome.counts.new, outcome.counts.failed) == (2, 1)
    assert answered(tmp_path) == ["question 0", "question 2"]
    (failed,) = (line["failed"]["error"] for line in lines(tmp_path) if "failed" in line)
    assert failed["kind"] == "internal"
    assert failed["message"].endswith("it was answering this request, as it was when it died before")


@pytest.mark.parametrize("copies", [0, 1], ids=["in this process", "a worker"])
def test_an_answer_that_cannot_be_written_fails_its_own_row_alone(copies: int, tmp_path: Path) -> None:
    outcome = run(tmp_path, "question 0", "odd 1", "question 2", copies=copies)
    assert (outcome.counts.new, outcome.counts.failed) == (2, 1)
    assert len(notes(tmp_path, "start")) == 1, "nobody had to be started again"


@pytest.mark.parametrize("point", ["_write_receipt", "_store_media", "write_line", "keep"])
def test_an_answer_survives_the_death_of_its_copy_at_every_step_of_keeping_it(point: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, *questions(8), wants=("text", "image"), point=point, count=2)
    assert (outcome.counts.new, outcome.counts.failed) == (8, 0)
    assert answered(tmp_path) == questions(8)
    assert (tmp_path / "point was here").exists()
    assert [bill.spent.calls for bill in outcome.bills] == [8]
    assert not list(journal_of(tmp_path).glob("inbox/*"))
    assert run(tmp_path, *questions(8), wants=("text", "image")).counts.kept == 8


def test_copies_that_only_die_end_the_run_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "DEATHS_IN_A_ROW", 2)
    with pytest.raises(BackendDownError, match="2 workers in a row have died without an answer") as lost:
        run(tmp_path, *(f"deadly {i}" for i in range(8)))
    assert lost.value.exit_code == EXIT_INCOMPLETE
    assert run(tmp_path, *questions(2)).counts.new == 2


def test_a_copy_that_cannot_be_started_again_ends_the_run(tmp_path: Path) -> None:
    texts = ["question 0", "once 1", "question 2"]
    with pytest.raises(BackendDownError, match=r"worker 1 of 1 .* cannot be started again: the weights are not here"):
        run(tmp_path, *texts, copies=1, max_batch_size=1, broken="missing", later=True)
    assert run(tmp_path, *texts).counts.kept == 1


# --- start -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [0, 2], ids=["in this process", "two workers"])
@pytest.mark.parametrize(
    ("broken", "code", "said"),
    [
        ("missing", EXIT_MISSING, "the weights are not here; fetch them"),
        ("usage", EXIT_USAGE, "there is one device, and two are asked for; ask for one"),
        ("crash", EXIT_UNEXPECTED, "RuntimeError: no such luck"),
    ],
)
def test_a_model_that_cannot_be_loaded_ends_the_run_with_its_own_words_and_blames_no_sample(
    broken: str, code: int, said: str, copies: int, tmp_path: Path
) -> None:
    with pytest.raises(StartFailedError) as error:
        run(tmp_path, *questions(3), copies=copies, broken=broken)
    assert (error.value.exit_code, str(error.value).startswith(said)) == (code, True)
    assert not journal_of_or_none(tmp_path)
    again = run(tmp_path, *questions(3), copies=copies)
    assert (again.counts.new, again.counts.kept, again.counts.failed) == (3, 0, 0)


def journal_of_or_none(folder: Path) -> list[Path]:
    return list(folder.glob("runs/*/default/journal/*.jsonl"))


def test_a_copy_that_dies_while_it_is_loaded_says_how(tmp_path: Path) -> None:
    with pytest.raises(StartFailedError, match=r"was killed by SIGKILL.*\.log\. It died while its model was loaded"):
        run(tmp_path, *questions(3), broken="death")


def test_a_copy_with_another_identity_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartFailedError, match="has another identity in a worker process") as error:
        run(tmp_path, *questions(3), drift=True)
    assert error.value.exit_code == EXIT_USAGE


def test_a_judge_that_cannot_be_loaded_suspends_the_scores_and_costs_no_answer(tmp_path: Path) -> None:
    judge = BackendSpec("toy_parallel", {"folder": str(tmp_path), "broken": "missing"})
    outcome = run_toy(tmp_path, task(metrics=["exact_match", "toy_verdict"]), roles={"judge": judge})
    assert (outcome.exit_code, outcome.counts.new, len(notes(tmp_path, "start"))) == (EXIT_MISSING, 3, 1)
    assert outcome.complaints[0].startswith(
        "scoring by toy_verdict was suspended: the judge cannot be started: the weights are not here; fetch them. "
        "3 trials lack a verdict, what was judged is kept: mend that, then run "
    )


@pytest.mark.parametrize("copies", [0, 2], ids=["in this process", "two workers"])
def test_a_run_that_keeps_everything_loads_nothing(copies: int, tmp_path: Path) -> None:
    run(tmp_path, *questions(2), copies=copies)
    loaded = len(notes(tmp_path, "start"))
    assert run(tmp_path, *questions(2), copies=copies, broken="missing").counts.kept == 2
    assert (loaded, len(notes(tmp_path, "start"))) == (copies or 1, copies or 1)


def test_copies_of_what_other_processes_cannot_make_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ToyParallel(folder=str(tmp_path), copies=2)
    with pytest.raises(UsageError, match="the model was made in this process, and its copies would run in others"):
        run_toy(tmp_path, task(), model=BackendSpec("toy_parallel", instance=made))
    mine = plugins._Registered("mmeval.model_backends", "mine", ToyParallel)
    monkeypatch.setitem(plugins._of_script["mmeval.model_backends"], "mine", mine)
    with pytest.raises(UsageError, match="the backend 'mine' of the model is known to this process alone"):
        run_toy(tmp_path, task(), model=BackendSpec("mine", {"folder": str(tmp_path), "copies": 2}))
    assert not (tmp_path / "runs").exists()
