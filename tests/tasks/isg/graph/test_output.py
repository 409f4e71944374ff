"""The questions that a model has written, as a file of data."""

import json
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.interchange import AnsweredRun
from mmeval.media import Interleaved
from mmeval.records import ErrorInfo, Sample, Trial
from mmeval.tasks.isg.graph.output import write_questions
from tests.support.interchange import task_of

ROW = {
    "Query": [{"type": "text", "content": "Draw \u2028 it."}],
    "Golden": [{"type": "text", "content": "So."}],
}
FAILED = ErrorInfo("timeout", "no reply")
DAMAGED = Trial(
    Sample("9", (), fault="no JSON"), error=ErrorInfo("bad_sample", "no JSON")
)


def trial(name: str, said: str | ErrorInfo, repeat: int = 0) -> Trial:
    sample = Sample(
        name, (), metadata={"category": "HowTo", "row": {"Query": [], "Golden": []}}
    )
    if isinstance(said, ErrorInfo):
        return Trial(sample, repeat, error=said)
    return Trial(sample, repeat, output=Interleaved.from_text(said))


def test_a_row_is_written_for_each_answer_with_questions_and_what_lacks_is_told(
    tmp_path: Path,
) -> None:
    task = task_of(
        "ask",
        (
            trial("1", '{"a": 1}'),
            trial("1", "{}", 1),
            trial("2", "no"),
            trial("3", FAILED),
            DAMAGED,
        ),
    )
    done = write_questions(
        AnsweredRun("m", (task, task_of("quiz", (Trial(Sample("x", ())),)))), tmp_path
    )
    assert done.answers == 2
    assert done.media == 0
    assert len(done.gaps) == 4
    assert len(done.notes) == 1
    files = {
        file.name: [json.loads(line) for line in file.read_text().splitlines()]
        for file in tmp_path.iterdir()
    }
    row = {"id": "1", "Category": "HowTo", "Query": [], "Golden": []}
    assert files == {
        "ISG-Bench.jsonl": [{**row, "predict": {"a": 1}}],
        "ISG-Bench_repeat1.jsonl": [{**row, "predict": {}}],
    }


@pytest.mark.parametrize("said", [("no",), ('{"a": 1}', '{"a": 2}')])
def test_a_run_without_questions_or_with_two_answers_to_a_row_is_refused(
    said: tuple[str, ...], tmp_path: Path
) -> None:
    tasks = tuple(
        task_of(f"ask{at}", (trial("1", one),)) for at, one in enumerate(said)
    )
    with pytest.raises(UsageError):
        write_questions(AnsweredRun("m", tasks), tmp_path)


@pytest.mark.parametrize(
    ("number", "written"),
    [("NaN", None), ("-Infinity", None), ("1e999", None), ("7", 7)],
)
def test_a_number_that_json_cannot_hold_is_null_among_the_questions(
    number: str, written: int | None, tmp_path: Path
) -> None:
    sample = Sample("0001", (), metadata={"category": "HowTo", "row": ROW})
    trial = Trial(
        sample,
        output=Interleaved.from_text(
            f'{{"image_qa": [{{"id": {number}, "Question": "\\ud800"}}]}}'
        ),
    )
    done = write_questions(AnsweredRun("m", (task_of("isg_graph", [trial]),)), tmp_path)
    (line,) = (tmp_path / "ISG-Bench.jsonl").read_bytes().splitlines()
    predict = {"image_qa": [{"id": written, "Question": "\ud800"}]}
    assert (done.answers, json.loads(line)) == (
        1,
        {"id": "0001", "Category": "HowTo", **ROW, "predict": predict},
    )
