"""Numbers that are made of averaged numbers, in whole runs: parts of a process and of a
judge, and missing parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_OK
from mmeval.records.score import Result
from mmeval.report.results_file import results_document
from mmeval.results.numbers import number_rows
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.settings.report_options import ReportContext
from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import again, registered, run_toy

TASK = """task: t
dataset_path: data
metadata: {version: 1}
breakdown: [level]
metric_list: [{metric: sound_worth}, {metric: text_worth}]
numbers:
  - {number: worth, of: [sound_worth, text_worth], missing: skip}
  - {number: both, of: [sound_worth, text_worth]}
"""
GROUP = """group: all
task: [t]
aggregate_metric_list: [{metric: worth}, {metric: both}]
metadata: {version: 1}
"""
TEXTS = ("sounds 1", "sounds 0", "sounds 0.5", "nothing")


@pytest.fixture(autouse=True)
def _metrics() -> Iterator[None]:
    with registered():
        yield


def judge(tmp_path: Path) -> dict[str, BackendSpec]:
    """Says yes to everything, as ``met?`` is not asked with the words of the answer;
    what ``judge`` names fails."""
    return {
        "judge": BackendSpec(
            "toy", {"broken": str(tmp_path / "judge"), "wording": "yes"}
        )
    }


def ran(tmp_path: Path, *texts: str, roles: Any = None, **overrides: Any) -> RunOutcome:
    """A run over questions that the toy model answers with their own words; two levels
    in turn."""
    folder = write_files(tmp_path / "tasks", {"t.yaml": TASK, "all.yaml": GROUP})
    rows = (
        {"id": f"s{i}", "input": text, "level": "ab"[i % 2]}
        for i, text in enumerate(texts)
    )
    write_rows(folder / "data", *rows)
    chosen = select(
        ["all"], [folder], TaskOverrides(**overrides), roles=frozenset(roles or ())
    )
    return run_toy(tmp_path, *chosen.tasks, groups=chosen.groups, roles=roles or {})


def number(outcome: RunOutcome, name: str, task: str = "t", slice: str = "") -> Result:
    found = (*outcome.results, *outcome.group_results)
    return next(
        one for one in found if (one.task, one.metric, one.slice) == (task, name, slice)
    )


def document(outcome: RunOutcome) -> Any:
    return results_document(outcome, ReportContext("toy"), {})


def test_a_number_of_numbers_is_one_like_any_other(tmp_path: Path) -> None:
    outcome = ran(tmp_path, *TEXTS, roles=judge(tmp_path))
    found = document(outcome)
    worth = number(outcome, "worth")
    assert worth.value == 0.75
    assert worth.scored == 4
    assert worth.n == 4
    assert outcome.exit_code == EXIT_OK
    assert worth.bootstrap_iters == 0, "by formula, as all its parts are means"
    assert worth.ci95 is not None
    assert worth.bounds == (0.75, 0.75)
    assert [
        number(outcome, "worth", slice=f"level={level}").value for level in "ab"
    ] == [0.875, 0.5]
    assert (
        number(outcome, "worth", "all").value,
        number(outcome, "worth", "all").ci95,
    ) == (0.75, worth.ci95)
    assert (
        found["results"]["t"]["worth,none"],
        found["higher_is_better"]["t"]["worth"],
    ) == (0.75, True)
    assert {"metric": "worth"} in found["configs"]["t"]["metric_list"]
    assert found["mmeval"]["metrics"]["t"]["worth"]["pieces"] == [
        "sound_worth",
        "text_worth",
    ]
    assert found["mmeval"]["metrics"]["t"]["worth"]["range"] == [0, 1]


def test_without_the_judge_one_is_partial_and_the_other_unavailable_until_there_is_one(
    tmp_path: Path,
) -> None:
    outcome = ran(tmp_path, *TEXTS)
    rows = {
        (row.task, row.metric, row.slice): row
        for row in number_rows([document(outcome)], ["toy"])
    }
    assert (number(outcome, "worth").value, number(outcome, "worth").scored) == (0.5, 3)
    assert (number(outcome, "both").value, number(outcome, "both").unavailable) == (
        None,
        4,
    )
    assert (
        number(outcome, "worth", "all").value,
        number(outcome, "both", "all").value,
    ) == (0.5, None)
    for task in ("t", "all"):
        assert "partial: without text_worth" in rows[task, "worth", ""].notes
    assert outcome.exit_code == EXIT_OK
    later = again(outcome, roles=judge(tmp_path))
    assert [number(later, name).value for name in ("worth", "both")] == [0.75, 0.75]
    assert not any(row.partial[0] for row in number_rows([document(later)], ["toy"]))


def test_where_no_answer_has_a_part_the_number_is_partial_or_unknown(
    tmp_path: Path,
) -> None:
    outcome = ran(tmp_path, "nothing", "no sound", roles=judge(tmp_path))
    # a number comes before its slices
    numbers = reversed([*number_rows([document(outcome)], ["toy"])])
    rows = {row.metric: row for row in numbers if row.task == "t"}
    assert (
        number(outcome, "worth").value,
        rows["worth"].partial,
        outcome.exit_code,
    ) == (1.0, (True,), EXIT_OK)
    assert "partial: without sound_worth" in rows["worth"].notes
    assert (number(outcome, "both").value, rows["both"].partial) == (None, (False,))
    assert "no value without sound_worth" in rows["both"].notes


def test_a_part_that_was_skipped_comes_with_a_later_scoring(tmp_path: Path) -> None:
    outcome = ran(tmp_path, *TEXTS, roles=judge(tmp_path), skip_metric=("sound_worth",))
    assert (number(outcome, "worth").value, number(outcome, "both").unavailable) == (
        1.0,
        4,
    )
    everything = again(
        outcome, roles=judge(tmp_path), metrics=("sound_worth", "text_worth")
    )
    assert number(everything, "both").value == 0.75
    one = again(outcome, roles=judge(tmp_path), metrics=("text_worth",))
    assert {result.metric for result in one.results} == {"text_worth"}
