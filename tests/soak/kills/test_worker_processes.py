"""Worker processes that die at every step of their work: no answer is lost, and none is
asked for twice."""

from pathlib import Path
from typing import Any

import pytest

from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.system.json_lines import from_line
from tests.support.parallel import answered
from tests.support.toy import run_toy, sample, task

pytestmark = pytest.mark.usefixtures("toys")


def run(
    folder: Path,
    *texts: str,
    wants: tuple[str, ...] = ("text",),
    copies: int = 2,
    **args: Any,
) -> RunOutcome:
    """A run of questions by copies of the toy model."""
    made = task(
        rows=[
            sample(f"s{i}", text, text.replace("question", "answer"))
            for i, text in enumerate(texts)
        ]
    )
    vars(made)["output_kinds"] = lambda _row: wants  # a task is frozen
    model = BackendSpec(
        "toy_parallel", {"folder": str(folder), "copies": copies, **args}
    )
    return run_toy(folder, made, model=model, max_unscored=1000.0)


def questions(count: int) -> list[str]:
    return [f"question {i}" for i in range(count)]


def test_an_answer_that_this_process_cannot_read_harms_no_other(tmp_path: Path) -> None:
    texts = ["question 0", "garbled 1", *questions(8)[2:]]
    outcome = run(tmp_path, *texts, copies=1, max_batch_size=8)
    assert (outcome.counts.new, outcome.counts.failed) == (8, 0)
    assert answered(tmp_path).count("garbled 1") == 1, (
        "it was written, so it is not asked again"
    )
    scores = (
        from_line(line)
        for file in tmp_path.rglob("scores.jsonl")
        for line in file.read_bytes().splitlines()
    )
    assert [
        row["scores"]["exact_match"]["value"]
        for row in sorted(scores, key=lambda row: row["i"])
    ] == [1.0] * 8


@pytest.mark.parametrize(
    "point", ["_write_receipt", "_store_media", "write_line", "keep"]
)
def test_an_answer_survives_the_death_of_its_copy_at_every_step_of_keeping_it(
    point: str, tmp_path: Path
) -> None:
    outcome = run(
        tmp_path, *questions(8), wants=("text", "image"), point=point, count=2
    )
    assert (outcome.counts.new, outcome.counts.failed) == (8, 0)
    assert answered(tmp_path) == questions(8)
    assert (tmp_path / "point was here").exists()
    assert [bill.spent.calls for bill in outcome.bills] == [8]
    assert not list(tmp_path.glob("runs/*/default/journal/inbox/*"))
    assert run(tmp_path, *questions(8), wants=("text", "image")).counts.kept == 8
