"""Derived metrics in runs: pieces of a scoring process and of a judge, and what is missing of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, EXIT_OK, MissingError
from mmeval.forecast.dry_run import forecast
from mmeval.records.score import Result
from mmeval.report.progress_bar import Quiet
from mmeval.report.results_file import results_document
from mmeval.rescore.rescorer import rescore
from mmeval.results.stored_run import StoredRun
from mmeval.run.options import BackendSpec, RescoreOptions, RunOptions, RunOutcome
from mmeval.scoring.score_set import finished_rows
from mmeval.settings.report_options import ReportContext
from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import registered, run_toy

TASK = """\
task: asked
dataset_path: data
metric_list:
  - metric: toy_yes
  - metric: toy_verdict
  - metric: overall
    of: [toy_yes, toy_verdict]
metadata: {version: 1}
"""
GROUP = "group: all\ntask: [asked]\naggregate_metric_list:\n  - metric: overall\nmetadata: {version: 1}\n"


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def judge(tmp_path: Path) -> dict[str, BackendSpec]:
    """Says yes to everything; what the file ``judge`` names fails."""
    return {"judge": BackendSpec("toy", {"broken": str(tmp_path / "judge")})}


def chosen(tmp_path: Path, *texts: str, task: str = TASK, roles: Any = (), skip: tuple[str, ...] = ()) -> Any:
    folder = write_files(tmp_path / "tasks", {"asked.yaml": task, "all.yaml": GROUP})
    write_rows(folder / "data", *({"id": f"s{i}", "input": text} for i, text in enumerate(texts)))
    return select(["all"], [folder], TaskOverrides(skip_metric=skip), roles=frozenset(roles))


def ran(tmp_path: Path, *texts: str, task: str = TASK, roles: Any = None, **options: Any) -> RunOutcome:
    """A run over questions that the toy model answers with their own words."""
    roles = judge(tmp_path) if roles is None else roles
    skip = options.pop("skip", ())
    selection = chosen(tmp_path, *texts, task=task, roles=roles, skip=skip)
    return run_toy(tmp_path, *selection.tasks, groups=selection.groups, roles=roles, **options)


def again(outcome: RunOutcome, tmp_path: Path, **options: Any) -> RunOutcome:
    made = {"roles": judge(tmp_path), "score_workers": 0, "retry_on_error": 0, **options}
    return rescore(RescoreOptions(folder=outcome.folder, **made), progress=Quiet())


def number(outcome: RunOutcome, name: str = "overall", task: str = "asked") -> Result:
    found = (*outcome.results, *outcome.group_results)
    return next(result for result in found if (result.task, result.metric) == (task, name))


def rows(outcome: RunOutcome) -> list[Mapping[str, Any]]:
    found = finished_rows(outcome.score_sets["asked"], lambda index, repeat: True)
    return [row["scores"].get("overall") for row in found]


def test_pieces_of_a_process_and_of_a_judge_make_one_number_of_the_task_and_of_its_group(tmp_path: Path) -> None:
    outcome = ran(tmp_path, "yes", "no")

    assert (number(outcome).value, number(outcome, task="all").value, outcome.exit_code) == (0.5, 0.5, EXIT_OK)
    assert [row["evidence"]["of"] for row in rows(outcome)] == [
        {"toy_yes": 1.0, "toy_verdict": 1.0},
        {"toy_yes": 0.0, "toy_verdict": 1.0},
    ]


def test_it_has_its_keys_in_the_results_file(tmp_path: Path) -> None:
    document = results_document(ran(tmp_path, "yes", "no"), ReportContext("toy"), {})

    assert document["results"]["asked"]["overall,none"] == 0.5
    assert document["higher_is_better"]["asked"]["overall"] is True
    assert {"metric": "overall"} in document["configs"]["asked"]["metric_list"]
    assert document["mmeval"]["metrics"]["asked"]["overall"]["pieces"] == ["toy_yes", "toy_verdict"]


def test_a_lost_verdict_leaves_bounds_and_is_complained_of_once(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("yes\nserver\n")
    outcome = ran(tmp_path, "yes", "no")

    assert (number(outcome).unscored, number(outcome).bounds, outcome.exit_code) == (1, (0.0, 0.5), EXIT_INCOMPLETE)
    assert (len([said for said in outcome.complaints if "unscored by" in said]), outcome.counts.unscored) == (1, 1)


def test_a_factor_0_needs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("no\nserver\n")
    assert (number(outcome := ran(tmp_path, "yes", "no")).value, number(outcome).unscored) == (0.5, 0)


def test_a_verdict_that_comes_later_completes_it(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("yes\nserver\n")
    before = ran(tmp_path, "yes", "no")
    (tmp_path / "judge").unlink()
    after = again(before, tmp_path)

    assert (number(after).value, number(after).unscored, after.score_sets) == (0.5, 0, before.score_sets)


def test_a_judge_that_is_lost_suspends_what_is_made_of_its_verdicts(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("met\nauth\n")
    outcome = ran(tmp_path, "yes", "no")

    assert (number(outcome).suspended, number(outcome).value, outcome.exit_code) == (True, None, EXIT_MISSING)
    assert number(outcome, "toy_yes").value == 0.5
    assert rows(outcome) == [None, None]
    (tmp_path / "judge").unlink()
    assert number(again(outcome, tmp_path)).value == 0.5


def test_without_the_judge_it_is_unavailable_until_there_is_one(tmp_path: Path) -> None:
    before = ran(tmp_path, "yes", "no", roles={})
    assert (number(before).unavailable, number(before).value, rows(before)[0]["status"]) == (2, None, "unavailable")

    assert number(again(before, tmp_path)).value == 0.5


def test_a_run_that_was_stopped_shows_those_that_are_complete_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("yes\nserver\n")
    outcome = ran(tmp_path, "yes", "no")
    folder = outcome.score_sets["asked"]
    (folder / "scores.jsonl").rename(folder / "rows.jsonl")  # as if it had been killed before its end
    for file in outcome.folder.glob("results_*.json"):
        file.unlink()

    run = StoredRun(outcome.folder)
    shown = [trial.scores["scores"]["overall"]["status"] for trial in run.tasks[0].trials() if trial and trial.scores]
    assert shown == ["unscored", "scored"]
    (tmp_path / "judge").unlink()
    assert number(ran(tmp_path, "yes", "no")).value == 0.5


def test_the_rule_for_a_missing_output_gives_it_the_same_score(tmp_path: Path) -> None:
    outcome = ran(tmp_path, "", "yes", task=f"{TASK}missing_output: 0.5\n")

    assert [row["value"] for row in rows(outcome)] == [0.5, 1.0]
    assert rows(outcome)[0]["evidence"] == {"missing_output": True}


def test_naming_it_for_a_later_scoring_brings_its_pieces(tmp_path: Path) -> None:
    before = ran(tmp_path, "yes", "no", roles={}, skip=("toy_verdict",))
    assert number(before).unavailable == 2
    assert number(again(before, tmp_path, roles={})).unavailable == 2  # what was skipped stays so

    after = again(before, tmp_path, metrics=("overall",))
    assert (number(after).value, [result.metric for result in after.results]) == (
        0.5,
        ["toy_yes", "toy_verdict", "overall"],
    )


def test_naming_it_alone_where_a_piece_lacks_scores_nothing(tmp_path: Path) -> None:
    before = ran(tmp_path, "yes", roles={})
    with pytest.raises(MissingError, match="overall is unavailable"):
        again(before, tmp_path, roles={}, metrics=("overall",))

    after = again(before, tmp_path, roles={}, metrics=("overall", "exact_match"))
    assert "toy_yes" not in {result.metric for result in after.results}


def test_another_combination_is_another_score_set_and_asks_no_judge_again(tmp_path: Path) -> None:
    before = ran(tmp_path, "yes", "no")
    (tmp_path / "judge").write_text("met\nserver\n")
    after = again(before, tmp_path, overrides=TaskOverrides(metric_args={"overall": {"combine": "mean"}}))

    assert (number(after).value, number(after).unscored) == (0.75, 0)
    assert before.score_sets != after.score_sets


def test_a_dry_run_counts_the_judge_once(tmp_path: Path) -> None:
    selection = chosen(tmp_path, "yes", "no", roles=("judge",))
    options = RunOptions(BackendSpec("toy"), tmp_path / "runs", roles=judge(tmp_path))
    assert forecast(selection, options).tasks[0].loads["judge"].calls == 2
