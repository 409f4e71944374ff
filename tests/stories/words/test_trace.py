from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TASK, TINY, Case, shown

JUDGED = TASK.replace("exact_match", "rubric_judge")
ROWS = (
    '{"id": "hare", "input": "Draw a hare.", "reference": "a hare", "rubric": '
    '["it names a hare"]}\n'
)
REPLY = '{{"reason": "No hare is named. \\u001b[31m Only a fox is.", "met": "no"}}'
RUN_JUDGED = f"{RUN} --judge openai,model=j --judge_base_url URL"
RUN_TWO = RUN.replace("--tasks t.yaml", "--tasks t.yaml,u.yaml")
RUN_FAILED = RUN.replace(
    "--model reference",
    "--model openai --model_args model=m,base_url=URL --retry_on_error 0",
)
RUBRIC = {"t.yaml": JUDGED, "rows/test.jsonl": ROWS}
TWO = {**TINY, "u.yaml": TASK.replace("task: t", "task: u")}
HERE = "trace runs/reference/default"
CASES = {
    "the worst answers": Case(HERE, before=(RUN,)),
    "the worst answers as JSON": Case(f"{HERE} --json", before=(RUN,)),
    "the worst answers of a task": Case(f"{HERE} --task u", TWO, before=(RUN_TWO,)),
    "the worst answers with a judge": Case(
        HERE, RUBRIC, before=(RUN_JUDGED,), server={"reply": REPLY}
    ),
    "a judged answer": Case(
        f"{HERE} --sample hare", RUBRIC, before=(RUN_JUDGED,), server={"reply": REPLY}
    ),
    "failed answers": Case(
        "trace runs/m/default",
        before=(RUN_FAILED,),
        server={"reply": "answer 0", "poison": "question 1"},
    ),
    "a run without scores": Case(HERE, before=(f"{RUN} --predict_only",)),
    "a sample of one task": Case(f"{HERE} --sample 1", before=(RUN,)),
    "a sample of one of two tasks": Case(f"{HERE} --sample 1", TWO, before=(RUN_TWO,)),
    "a repeat without a sample": Case(f"{HERE} --repeat 1", before=(RUN,)),
    "no run": Case("trace runs/gone"),
}


@pytest.mark.parametrize("name", CASES)
def test_trace(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
