import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.findings.finding import Finding, Subject
from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.results.numbers import NO_DATA
from mmeval.run.options import BackendSpec
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task, UnavailableTask
from tests.support.outcomes import outcome, result, task

CONTEXT = ReportContext("openai", {"model": "m", "api_key": "sk-secret"}, limit=5)
GROUP = Group("g", "g", ("a", "b"), (GroupMetric("half"),))
NO_ROWS = Finding("missing_data", Subject("b"), cause="no rows")
PAIR = (task("a", comparable=False), task("b"))


def rendered(
    *results: Result, tasks: tuple[Task, ...] = PAIR, left_out: Any = (), **more: Any
) -> list[str]:
    shown = {name: more.pop(name, None) for name in ("roles", "baseline")}
    made = outcome(Path(), *results, tasks=tasks, **more)
    made = replace(made, selection=replace(made.selection, left_out=left_out))
    document = json.loads(json.dumps(results_document(made, CONTEXT, {})))
    return render(document, made.selection, CONTEXT, **shown).splitlines()


def table(*results: Result, **more: Any) -> list[list[str]]:
    """The cells of the lines, headers first; that of groups follows that of tasks."""
    lines = [
        line for line in rendered(*results, **more)[1:] if line and "|--" not in line
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def column(name: str, *results: Result, **more: Any) -> dict[str, str]:
    """The cells below one header, by the names of tasks, groups and slices."""
    headers, *rows = table(*results, **more)
    at = headers.index(name)
    return {
        row[0]: row[at]
        for row in rows
        if len(row) == len(headers) and row[0] != "Groups"
    }


def test_a_row_has_a_value_with_its_error_and_unknown_ones_are_never_zero() -> None:
    found = result("a", 0.25, stderr=0.05, ci95=(0.15, 0.35))
    headers, row = table(found, tasks=(task("a", alias="Task A"),))
    assert dict(zip(headers, row, strict=True)) == {
        "Tasks": "Task A",
        "Version": "1.0",
        "Filter": "none",
        "n-shot": "0",
        "Metric": "half",
        "↑/↓": "↑",
        "Value": "0.2500",
        "±": "±",
        "Stderr": "0.0500",
        "95 % CI": "0.1500 to 0.3500",
        "Scored": "10/10",
    }
    unknown = result("a", None, unavailable=10, higher_is_better=False)
    row = table(unknown, tasks=(task("a"),))[1]
    assert row[5:] == ["↓", "N/A", "±", "N/A", "N/A", "0/10", "10 unavailable"]
    assert table(tasks=(task("a"),))[1] == ["a", "1.0", *[""] * 9]


def test_notes_have_what_is_left_out() -> None:
    left_out = (UnavailableTask("b", "B", "1.0", NO_ROWS),)
    given: Any = {"tasks": (task("a"),), "groups": (GROUP,), "left_out": left_out}
    found = column("Notes", result("a"), result("g"), **given)
    assert found == {"g": "1 of 2 tasks left out", "- a": "", "- B": NO_DATA}


def test_the_line_above_the_table_has_settings_judges_and_a_profile_that_is_not_standard() -> (
    None
):
    roles = {
        "judge": BackendSpec("openai", {"model": "j", "api_key": "sk-secret"}),
        "captioner": BackendSpec("hf"),
    }
    official = replace(task("b"), config={"profile": "official"})
    alone, among = (
        rendered(tasks=(*one, official), roles=roles)[0].split(", ")
        for one in ((), (task("a"),))
    )
    given = [
        "openai (model=m,api_key=***)",
        "gen_kwargs: (None)",
        "limit: 5",
        "num_fewshot: None",
        "batch_size: auto",
    ]
    judges = ["judge: openai (model=j,api_key=***)", "captioner: hf (None)"]
    assert (alone, among[-1]) == (
        [*given, *judges, "profile: official"],
        "profile: official (b)",
    )


def test_a_baseline_stands_behind_the_numbers_and_before_the_notes() -> None:
    other = BaselineColumn(
        "org/other",
        {Key("a", "half"): result("a", 0.75), Key("g", "half"): result("g", 0.625)},
    )
    given: Any = {"groups": (GROUP,), "baseline": other}
    three = [result("a"), result("b"), result("g")]
    assert table(*three, **given)[0][-3:] == ["Scored", "org/other", "Notes"]
    assert column("org/other", *three, **given) == {
        "g": "0.6250",
        "- a": "0.7500",
        "- b": "N/A",
    }
