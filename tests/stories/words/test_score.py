import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TASK, Case, shown

SCORE = "score runs/reference/default --score_workers 0"
SCORE_B = "score runs/reference/b --score_workers 0"
BESIDE = (RUN, f"{RUN} --run_id b --baseline runs/reference/default")
UNSCORED = (f"{RUN} --predict_only",)
JUDGE = {"reply": '{{"reason": "a hare", "met": "yes"}}'}
JUDGED = f"{RUN} --judge openai,model=j --judge_base_url URL"
OTHER_JUDGE = f"{SCORE} --judge openai,model=k --judge_base_url URL"
RUBRIC = {
    "t.yaml": TASK.replace("exact_match", "rubric_judge"),
    "rows/test.jsonl": '{"id": "hare", "input": "Draw.", "reference": "a hare", '
    '"rubric": ["it names a hare"]}\n',
}
CASES = {
    **{
        flags: Case(f"{SCORE} {flags}", before=UNSCORED)
        for flags in (
            "--metrics choice,exact_match",
            "--metrics exact_mtch",
            "--skip_metric exact_match",
        )
    },
    "the judge of the run": Case(SCORE, RUBRIC, before=(JUDGED,), server=JUDGE),
    "the judge of the run, after another one": Case(
        SCORE, RUBRIC, before=(JUDGED, OTHER_JUDGE), server=JUDGE
    ),
    "another judge": Case(OTHER_JUDGE, RUBRIC, before=(JUDGED,), server=JUDGE),
    "a damaged record": Case(
        SCORE,
        before=UNSCORED,
        meanwhile=lambda folder: (
            folder / "runs/reference/default/run.json"
        ).write_text("{"),
    ),
    "damaged lines of the journal": Case(
        SCORE,
        before=UNSCORED,
        meanwhile=lambda folder: (
            folder / "runs/reference/default/journal/other.jsonl"
        ).write_text("{}\n" * 7),
    ),
    "the baseline of the run": Case(SCORE_B, before=BESIDE),
    "a baseline that is gone": Case(
        SCORE_B,
        before=BESIDE,
        meanwhile=lambda folder: shutil.rmtree(folder / "runs/reference/default"),
    ),
    "a baseline that is the run itself": Case(
        SCORE, before=(RUN, f"{RUN} --baseline runs/reference/default")
    ),
    "a folder without a run": Case("score nothing"),
    "no folder": Case("score"),
}
OF_A_RUN = ("|", "reference (None)", "INFO results", "INFO report", "exit code")
"""Lines that the command has in common with ``run``, whose snapshots have them."""


@pytest.mark.parametrize("name", CASES)
def test_score(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    written = shown(CASES[name], tmp_path).splitlines()
    assert (
        "\n".join(line for line in written if not line.startswith(OF_A_RUN)) == snapshot
    )
