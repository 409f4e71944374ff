"""Score rows are read together with trials, and only for the trials on a page."""

from pathlib import Path
from typing import Any

from mmeval.metric.answer_filter import BALLOT
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.results.stored_run import ScoreRows
from mmeval.store.paths import trial_key
from mmeval.system.json_lines import sealed, to_line


def score_set(folder: Path, *ballots: tuple[int, int, str]) -> Path:
    """Writes a finished score set with the ballot of each trial."""
    scores = ScoreSet(folder, "t", {"metrics": [], "outputs": ["vote"]})
    for index, repeat, ballot in ballots:
        score: dict[str, Any] = {
            "value": 1.0,
            "status": "scored",
            "evidence": {BALLOT: ballot},
        }
        row = {"i": index, "n": repeat, "s": f"s{index}", "d": "d", "status": "ok"}
        scores.add(sealed(to_line({**row, "scores": {"vote": score}})))
    scores.finish()
    return scores.folder


def test_only_the_rows_of_chosen_samples_are_read(tmp_path: Path) -> None:
    folder = score_set(tmp_path, (0, 0, "x"), (1, 0, "x"), (2, 0, "x"))
    rows = ScoreRows(folder, lambda index, _repeat: index == 1)
    found = [rows.of(trial_key(index, 0), "d")[0] for index in range(3)]
    assert [row is not None for row in found] == [False, True, False]


def test_a_vote_counts_the_answers_that_the_filter_leaves_out(tmp_path: Path) -> None:
    folder = score_set(tmp_path, (0, 0, "x"), (0, 1, "y"), (0, 2, "y"))
    rows = ScoreRows(folder, lambda _index, repeat: repeat == 0)
    row, _ = rows.of(trial_key(0, 0), "d")
    assert row is not None
    assert row["scores"]["vote"]["status"] == "inapplicable"


def test_the_size_of_a_row_is_that_of_its_line(tmp_path: Path) -> None:
    folder = score_set(tmp_path, (0, 0, "x"), (1, 0, "long" * 9))
    lines = (folder / "scores.jsonl").read_bytes().splitlines(keepends=True)
    rows = ScoreRows(folder)
    sizes = [rows.of(trial_key(index, 0), "d")[1] for index in range(2)]
    assert sizes == [len(line) for line in lines]
