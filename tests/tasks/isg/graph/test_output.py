"""The questions that models have written, as a file of data."""

import json
from pathlib import Path

import pytest

from mmeval.content import Interleaved
from mmeval.interchange import AnsweredRun
from mmeval.records import Sample, Trial
from mmeval.tasks.isg.graph.output import write_questions
from tests.support.answered import task_of

ROW = {"Query": [{"type": "text", "content": "Draw \u2028 it."}], "Golden": [{"type": "text", "content": "So."}]}


@pytest.mark.parametrize(("number", "written"), [("NaN", None), ("-Infinity", None), ("1e999", None), ("7", 7)])
def test_a_number_that_json_cannot_hold_is_null_among_the_questions(
    number: str, written: int | None, tmp_path: Path
) -> None:
    sample = Sample("0001", (), metadata={"category": "HowTo", "row": ROW})
    trial = Trial(sample, output=Interleaved.from_text(f'{{"image_qa": [{{"id": {number}, "Question": "\\ud800"}}]}}'))
    done = write_questions(AnsweredRun("m", (task_of("isg_graph", [trial]),)), tmp_path)
    (line,) = (tmp_path / "ISG-Bench.jsonl").read_bytes().splitlines()
    predict = {"image_qa": [{"id": written, "Question": "\ud800"}]}
    assert (done.answers, json.loads(line)) == (1, {"id": "0001", "Category": "HowTo", **ROW, "predict": predict})
