from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, Case, shown

SCORE = "score runs/reference/default --score_workers 0"
UNSCORED = (f"{RUN} --predict_only",)
CASES = {
    "an unscored run": Case(SCORE, before=UNSCORED),
    **{
        flags: Case(f"{SCORE} {flags}", before=UNSCORED)
        for flags in (
            *("--metrics choice,exact_match", "--metrics exact_mtch", "--metrics choice --skip_metric exact_match"),
            *(
                "--skip_metric exact_match",
                "--profile official",
                "--model x",
                "--limit 1",
                "--fresh",
                "--role judge=empty",
            ),
            *("--metrics judge_grade", "--metrics judge_grade,exact_match", "--config gone.yaml"),
        )
    },
    "a run that was cut off": Case(SCORE, before=(f"{RUN} --predict_only --limit 1",)),
    "a damaged line": Case(
        SCORE,
        before=UNSCORED,
        meanwhile=lambda folder: _damage(next((folder / "runs/reference/default/journal").glob("*.jsonl"))),
    ),
    "a damaged record": Case(
        SCORE, before=UNSCORED, meanwhile=lambda folder: (folder / "runs/reference/default/run.json").write_text("{")
    ),
    "a folder without a run": Case("score nothing"),
    "no folder": Case("score"),
}


def _damage(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0][:20] + b"\xff" + lines[0][21:], *lines[1:]]))


@pytest.mark.parametrize("name", CASES)
def test_score(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
