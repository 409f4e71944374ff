"""Scores that are made of scores, in whole runs: pieces of a process and of a judge,
and pieces that are missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_MISSING, EXIT_OK
from mmeval.forecast.dry_run import forecast
from mmeval.forecast.text import forecast_text
from mmeval.metric.scoring.score_set import finished_rows
from mmeval.records.score import Result
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.results.numbers import number_rows
from mmeval.run.options import BackendSpec, RunOptions, RunOutcome
from mmeval.settings.report_options import ReportContext
from mmeval.task.selection import select
from mmeval.task.task import Selection
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import again, registered, run_toy

TASK = "task: t\ndataset_path: data\nmetadata: {{version: 1}}\nmetric_list:\n{}"
GROUP = (
    "group: all\ntask: [t]\naggregate_metric_list:\n  - metric: {}\nmetadata: "
    "{{version: 1}}\n"
)
OVERALL = ("toy_yes", "toy_verdict", "overall\n    of: [toy_yes, toy_verdict]")
THERE = (
    "sound_worth",
    "text_worth",
    "what_there_is\n    of: [sound_worth, text_worth]",
)
SOME = ("sounds 0.5", "nothing")


@pytest.fixture(autouse=True)
def _metrics() -> Iterator[None]:
    with registered():
        yield


def judge(tmp_path: Path, wording: str = "{}") -> dict[str, BackendSpec]:
    """Says yes to everything, or what is given; what the file ``judge`` names fails."""
    return {
        "judge": BackendSpec(
            "toy", {"broken": str(tmp_path / "judge"), "wording": wording}
        )
    }


def chosen(
    tmp_path: Path, metrics: tuple[str, ...], *texts: str, roles: Any = ()
) -> Selection:
    entries = "".join(f"  - metric: {metric}\n" for metric in metrics)
    last = metrics[-1].partition("\n")[0]
    folder = write_files(
        tmp_path / "tasks",
        {"t.yaml": TASK.format(entries), "all.yaml": GROUP.format(last)},
    )
    write_rows(
        folder / "data",
        *({"id": f"s{i}", "input": text} for i, text in enumerate(texts)),
    )
    return select(["all"], [folder], roles=frozenset(roles))


def ran(
    tmp_path: Path, metrics: tuple[str, ...], *texts: str, roles: Any = None
) -> RunOutcome:
    """A run over questions that the toy model answers with their own words."""
    selection = chosen(tmp_path, metrics, *texts, roles=roles or {})
    return run_toy(
        tmp_path, *selection.tasks, groups=selection.groups, roles=roles or {}
    )


def number(outcome: RunOutcome, name: str = "overall", task: str = "t") -> Result:
    found = (*outcome.results, *outcome.group_results)
    return next(
        one for one in found if (one.task, one.metric, one.slice) == (task, name, "")
    )


def rows(outcome: RunOutcome, name: str = "overall") -> list[Any]:
    found = finished_rows(outcome.score_sets["t"], lambda index, repeat: True)
    return [row["scores"].get(name) for row in found]


def document(outcome: RunOutcome) -> Any:
    return results_document(outcome, ReportContext("toy"), {})


def table(outcome: RunOutcome) -> str:
    return render(document(outcome), outcome.selection, ReportContext("toy"))


def test_pieces_make_one_number_of_the_task_and_of_its_group(tmp_path: Path) -> None:
    outcome = ran(tmp_path, OVERALL, "yes", "no", roles=judge(tmp_path))
    found = document(outcome)
    assert (
        number(outcome).value,
        number(outcome, task="all").value,
        outcome.exit_code,
    ) == (0.5, 0.5, EXIT_OK)
    assert [row["evidence"]["of"] for row in rows(outcome)] == [
        {"toy_yes": 1.0, "toy_verdict": 1.0},
        {"toy_yes": 0.0, "toy_verdict": 1.0},
    ]
    assert (
        found["results"]["t"]["overall,none"],
        found["higher_is_better"]["t"]["overall"],
    ) == (0.5, True)
    assert {"metric": "overall"} in found["configs"]["t"]["metric_list"]
    assert found["mmeval"]["metrics"]["t"]["overall"]["pieces"] == [
        "toy_yes",
        "toy_verdict",
    ]


def test_a_judge_that_is_lost_suspends_what_is_made_of_its_verdicts(
    tmp_path: Path,
) -> None:
    (tmp_path / "judge").write_text("met\nauth\n")
    outcome = ran(tmp_path, OVERALL, "yes", "no", roles=judge(tmp_path))
    assert (number(outcome).suspended, number(outcome).value, outcome.exit_code) == (
        True,
        None,
        EXIT_MISSING,
    )
    assert (number(outcome, "toy_yes").value, rows(outcome)) == (0.5, [None, None])
    (tmp_path / "judge").unlink()
    assert number(again(outcome, roles=judge(tmp_path))).value == 0.5


def test_without_a_judge_it_is_partial_until_there_is_one(tmp_path: Path) -> None:
    outcome = ran(tmp_path, THERE, *SOME)
    found = number(outcome, "what_there_is")
    # a number comes before its slices
    numbers = reversed([*number_rows([document(outcome)], ["toy"])])
    notes = {(row.task, row.metric): row.notes for row in numbers}

    assert (found.value, found.inapplicable, outcome.exit_code) == (0.5, 1, EXIT_OK)
    assert [row["evidence"] for row in rows(outcome, "what_there_is")] == [
        {"sound_worth": "scored", "text_worth": "unavailable"},
        {"sound_worth": "inapplicable", "text_worth": "unavailable"},
    ]
    # of the task, and of its group in both tables
    assert table(outcome).count("partial: without text_worth") >= 3
    for task in ("t", "all"):
        assert "partial: without text_worth" in notes[task, "what_there_is"]
    assert "partial" not in notes["t", "sound_worth"]
    assert list(
        document(outcome)["mmeval"]["metrics"]["t"]["what_there_is"]["without"]
    ) == ["text_worth"]
    ahead = forecast(
        chosen(tmp_path, THERE, *SOME),
        RunOptions(BackendSpec("toy"), tmp_path / "other"),
    )
    assert "partial " in forecast_text(ahead)
    later = again(outcome, roles=judge(tmp_path, "no"))
    assert (
        number(later, "what_there_is").value,
        number(later, "what_there_is").scored,
    ) == (0.125, 2)
    assert "partial" not in table(later)
