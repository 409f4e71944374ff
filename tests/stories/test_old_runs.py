"""A run folder of format version 1, made by the first version of mmeval: later ones read, score and continue it.

What the folder was made with is in ``tests/support/kept_run.py``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_INCOMPLETE, UsageError
from mmeval.records.score import FORMAT_VERSION
from mmeval.report.progress_bar import Quiet
from mmeval.rescore.rescorer import rescore
from mmeval.run.options import BackendSpec, RescoreOptions, RunOptions, RunOutcome
from mmeval.run.runner import run
from mmeval.task.selection import select
from tests.support import kept_run
from tests.support.kept_run import Kept

JUDGE = {"judge": BackendSpec("kept", {"model": "judge-1"})}
OTHER = {"judge": BackendSpec("kept", {"model": "judge-2"})}
PLAIN = {"kept_drawn kept_word": 1 / 3, "kept_drawn kept_picture": 1.0}
JUDGED = {f"{task} kept_verdict": 2 / 3 for task in ("kept_drawn", "kept_turns", "kept")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder, where a run would have made it."""
    copy = tmp_path / "runs" / "kept" / "default"
    shutil.copytree(kept_run.FOLDER, copy)
    with kept_run.known(tmp_path / "site", monkeypatch):
        yield copy


def again(folder: Path, roles: dict[str, BackendSpec] | None = None) -> RunOutcome:
    return rescore(RescoreOptions(folder, roles=roles or {}, score_workers=0), progress=Quiet())


def continued(folder: Path, roles: dict[str, BackendSpec]) -> RunOutcome:
    options = RunOptions(
        BackendSpec("kept"), folder.parents[1], roles=roles, score_workers=0, retry_on_error=0, strict=True
    )
    return run(select(["kept"], roles=frozenset(roles)), options, progress=Quiet())


def values(outcome: RunOutcome) -> dict[str, Any]:
    found = (*outcome.results, *outcome.group_results)
    return {f"{result.task} {result.metric}": pytest.approx(result.value) for result in found if not result.slice}


def score_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("scores/*/*/scores.jsonl")}


def test_an_old_run_is_scored_again_and_nobody_is_asked(folder: Path) -> None:
    before = score_files(folder)

    outcome = again(folder, JUDGE)

    assert values(outcome) == {**PLAIN, **JUDGED}
    assert (Kept.asked, outcome.counts.kept, outcome.counts.failed) == ([], 9, 3)
    assert score_files(folder).items() >= before.items()


def test_the_scores_of_an_old_run_can_be_made_anew_from_its_answers(folder: Path) -> None:
    shutil.rmtree(folder / "scores")

    assert values(again(folder, JUDGE)) == {**PLAIN, **JUDGED}
    assert Kept.asked == []


def test_another_judge_judges_an_old_run_and_the_model_is_not_asked(folder: Path) -> None:
    before = score_files(folder)

    outcome = again(folder, OTHER)

    assert values(outcome) == {**PLAIN, **JUDGED}
    assert {model for model, _ in Kept.asked} == {"judge-2"}
    assert score_files(folder).items() > before.items()


def test_without_a_judge_the_other_metrics_of_an_old_run_have_their_values(folder: Path) -> None:
    outcome = again(folder)

    assert values(outcome).items() >= PLAIN.items()
    assert {result.unavailable for result in outcome.results if result.metric == "kept_verdict"} >= {6, 3}


def test_the_command_of_an_old_run_asks_what_had_failed_and_nothing_else(folder: Path) -> None:
    outcome = continued(folder, JUDGE)

    assert (values(outcome), outcome.exit_code) == ({**PLAIN, **JUDGED}, EXIT_INCOMPLETE)
    assert Kept.asked == [("kept-1", "fail")] * 3


def test_fields_that_only_a_later_version_knows_survive(folder: Path) -> None:
    rows = [path for path in folder.rglob("*.jsonl") if path.name != "rows.jsonl"]
    for path in rows:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**line, "of_later": [1]}) + "\n" for line in lines))
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "of_later": {"a": 1}}))

    again(folder, JUDGE)
    continued(folder, JUDGE)

    assert Kept.asked == [("kept-1", "fail")] * 3
    assert json.loads((folder / "run.json").read_text())["of_later"] == {"a": 1}
    assert all(path.read_text().count('"of_later"') >= 3 for path in rows)


@pytest.mark.parametrize("use", [again, continued])
def test_a_folder_of_a_newer_format_is_refused_and_left_as_it_is(folder: Path, use: Any) -> None:
    record = json.loads((folder / "run.json").read_text())
    newer = json.dumps({**record, "format": FORMAT_VERSION + 1, "mmeval": "9.0"})
    (folder / "run.json").write_text(newer)

    with pytest.raises(UsageError, match=r"written by a newer mmeval \(9.0\); upgrade mmeval to use it"):
        use(folder, JUDGE)
    assert ((folder / "run.json").read_text(), Kept.asked) == (newer, [])


def test_the_kept_folder_names_no_machine() -> None:
    text = "".join(path.read_text(errors="replace") for path in kept_run.FOLDER.rglob("*") if path.is_file())

    assert not [mark for mark in ("/home", "/root", "/tmp", "Linux-") if mark in text]
