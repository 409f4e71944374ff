"""Two copies of a model that answer at once."""

import os
import threading
from pathlib import Path

import pytest

from tests.mmeval.broker.test_worker_process import lines, questions, run
from tests.support.cli import wait_for
from tests.support.parallel import answered, notes

pytestmark = pytest.mark.usefixtures("toys")


def go_on(folder: Path) -> None:
    """Let the copies answer more than one question as soon as both of them have a
    batch: one that is only there might find none left."""
    wait_for(lambda: {note.copy for note in notes(folder, "begin")} == {1, 2}, "both")
    (folder / "go").touch()


def test_two_copies_answer_each_into_a_segment_of_its_own_and_what_they_answered_is_kept(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mmeval.broker.worker_service._logged", set())
    both_are_ready = threading.Thread(target=go_on, args=(tmp_path,))
    both_are_ready.start()
    outcome = run(
        tmp_path, "<think>hm</think>question 0", *questions(16)[1:], copies=2, most=1
    )
    both_are_ready.join()
    assert (outcome.exit_code, outcome.counts.new, len(answered(tmp_path))) == (
        0,
        16,
        16,
    )
    assert [bill.spent.calls for bill in outcome.bills] == [16]
    assert {note.copy for note in notes(tmp_path, "answer")} == {1, 2}
    assert os.getpid() not in {note.pid for note in notes(tmp_path, "answer")}
    assert sorted(note.copy for note in notes(tmp_path, "close")) == [0, 1, 2]
    assert len([*tmp_path.glob("runs/*/default/journal/*.jsonl")]) == 3, (
        "one is that of this process"
    )
    # The answer with its reasoning in it is written by the worker, and again as it is
    # kept.
    assert len(lines(tmp_path)) == 17
    (kept,) = (line for line in lines(tmp_path) if "w" not in line)
    assert (kept["to"], [part["type"] for part in kept["r"]["output"]]) == (
        [],
        ["reasoning", "text"],
    )
    assert caplog.messages == ["this model is a toy"]
    assert "a model may print" not in capfd.readouterr().out
    logs = [
        file.read_text() for file in tmp_path.glob("runs/*/default/workers/model-*.log")
    ]
    assert ["a model may print" in log for log in logs] == [True, True]
    again = run(
        tmp_path,
        "<think>hm</think>question 0",
        *questions(16)[1:],
        copies=2,
        broken="missing",
    )
    assert (again.counts.kept, len(notes(tmp_path, "start"))) == (16, 2), (
        "nothing is loaded"
    )
