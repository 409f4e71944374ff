import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.sampling import Subset
from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.run.options import BackendSpec, Unfinished
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task, UnavailableTask
from tests.support.outcomes import outcome, result, task

CONTEXT = ReportContext("openai", {"model": "m", "api_key": "sk-secret"}, limit=5)
GROUP = Group("g", "g", ("a",), (GroupMetric("half"),))
PAIR = (task("a", comparable=False), task("b"))


def rendered(
    *results: Result,
    tasks: tuple[Task, ...] = (task("a"),),
    groups: tuple[Group, ...] = (),
    left_out: tuple[UnavailableTask, ...] = (),
    context: ReportContext = CONTEXT,
    roles: Mapping[str, BackendSpec] | None = None,
    baseline: Column | None = None,
    **more: Any,
) -> list[str]:
    made = outcome(Path(), *results, tasks=tasks, groups=groups, **more)
    made = replace(made, selection=replace(made.selection, left_out=left_out))
    document = json.loads(json.dumps(results_document(made, context, {})))
    return render(document, made.selection, context, roles=roles, baseline=baseline).splitlines()


def table(*results: Result, **more: Any) -> list[list[str]]:
    """The cells of the lines, headers first; that of groups follows that of tasks."""
    lines = [line for line in rendered(*results, **more)[1:] if line and "|--" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def column(name: str, *results: Result, **more: Any) -> dict[str, str]:
    """The cells below one header, by the names of tasks, groups and slices."""
    headers, *rows = table(*results, **more)
    at = headers.index(name)
    return {row[0]: row[at] for row in rows if len(row) == len(headers) and row[0] != "Groups"}


def notes(*results: Result, **more: Any) -> dict[str, str]:
    return column("Notes", *results, **more)


def test_a_row_has_a_value_with_its_error_and_how_many_stand_behind_it() -> None:
    found = result("a", 0.25, stderr=0.05, ci95=(0.15, 0.35))
    headers, row = table(found, tasks=(task("a", alias="Task A"),))
    assert dict(zip(headers, row, strict=True)) == {
        **{"Tasks": "Task A", "Version": "1.0", "Filter": "none", "n-shot": "0", "Metric": "half", "↑/↓": "↑"},
        **{"Value": "0.2500", "±": "±", "Stderr": "0.0500", "95 % CI": "0.1500 to 0.3500", "Scored": "10/10"},
    }


def test_what_is_unknown_is_never_shown_as_zero() -> None:
    row = table(result("a", None, unavailable=10, higher_is_better=False))[1]
    assert row[5:] == ["↓", "N/A", "±", "N/A", "N/A", "0/10", "10 unavailable"]


def test_a_task_without_results_is_shown_without_numbers() -> None:
    assert table()[1] == ["a", "1.0", *[""] * 9]
    headers, row = table(baseline=Column("other"))
    assert len(headers) == len(row) == 12


def test_what_is_missing_stands_beside_the_value_with_its_bounds() -> None:
    row = table(result("a", failed=2, unscored=1, bounds=(0.35, 0.65)))[1]
    assert row[-2:] == ["7/10", "2 failed, 1 unscored, bounds 0.3500 to 0.6500"]


def test_a_group_has_the_notes_of_its_tasks() -> None:
    three = [result("a"), result("b"), result("g", weights={"a": 0.75, "b": 0.25})]
    both = replace(GROUP, members=("a", "b"))
    weighed = "weights: a 0.7500, b 0.2500; not comparable"
    assert notes(*three, tasks=PAIR, groups=(both,)) == {"g": weighed, "- a": "not comparable", "- b": ""}


def test_a_subset_is_noted_at_its_task_and_at_its_group() -> None:
    subsets = {"a": Subset(31026, 3000, ("limit",)), "b": Subset(10, 10, ("limit",))}
    found = notes(result("a"), result("b"), result("g"), tasks=(task("a"), task("b")), groups=(GROUP,), subsets=subsets)
    assert found == {"g": "subset", "- a": "subset: 3,000 of 31,026", "b": ""}


def test_slices_do_not_repeat_how_much_of_the_whole_was_asked() -> None:
    found = (result("a"), result("a", slice="level=easy"))
    cut, left = {"a": Subset(300, 20, ("limit",))}, {"a": Unfinished(16, 300)}
    whole = ["not comparable", "unfinished: 16 of 300", "subset: 20 of 300"]
    shown = notes(*found, tasks=PAIR[:1], subsets=cut, unfinished=left)
    assert {name: note.split("; ") for name, note in shown.items()} == {"a": whole, "- level=easy": ["not comparable"]}


def test_a_task_whose_data_are_missing_is_shown_below_its_group() -> None:
    left_out = (UnavailableTask("b", "B", "1.0", "no rows"),)
    found = notes(result("a"), result("g"), groups=(replace(GROUP, members=("a", "b")),), left_out=left_out)
    assert (found["g"], found["- a"], found["- B"][:9]) == ("1 of 2 tasks left out", "", "left out:")


def settings(**more: Any) -> list[str]:
    """The parts of the line above the table."""
    return rendered(**more)[0].split(", ")


def test_the_line_above_the_table_has_the_settings_of_the_run() -> None:
    assert settings() == [
        *("openai (model=m,api_key=***)", "gen_kwargs: (None)", "limit: 5", "num_fewshot: None", "batch_size: auto")
    ]
    given = ReportContext("hf", settings={"protocol": "text_then_media"})
    assert settings(context=given)[-1] == "protocol: text_then_media"


def test_the_line_above_the_table_names_the_judges_and_a_profile_that_is_not_standard() -> None:
    roles = {"judge": BackendSpec("openai", {"model": "j", "api_key": "sk-secret"}), "captioner": BackendSpec("hf")}
    official = replace(task("b"), config={"profile": "official"})
    alone, among = (settings(tasks=(*one, official), roles=roles)[5:] for one in ((), (task("a"),)))
    judges = ["judge: openai (model=j,api_key=***)", "captioner: hf (None)"]
    assert (alone, among) == ([*judges, "profile: official"], [*judges, "profile: official (b)"])


def test_groups_come_first_with_their_members_indented_and_have_a_table_of_their_own() -> None:
    groups = (Group("outer", "Outer", ("inner", "b")), Group("inner", "Inner", ("a",), (GroupMetric("half"),)))
    lines = rendered(*map(result, ("a", "b", "c", "inner")), tasks=(task("a"), task("b"), task("c")), groups=groups)
    names = [line[1:].split("|")[0].rstrip() for line in lines[1:] if line.startswith("|") and "---" not in line]
    assert names == ["Tasks", "Outer", " - Inner", "  - a", " - b", "c", "Groups", " - Inner"]


def test_slices_stand_below_their_task_each_with_all_its_metrics() -> None:
    slices = ("", "level=hard", "level=easy")
    found = table(*(result("a", metric=metric, slice=label) for metric in ("one", "two") for label in slices))[1:]
    names = ["a", "", "- level=hard", "", "- level=easy", ""]
    assert [(row[0], row[4]) for row in found] == list(zip(names, ["one", "two"] * 3, strict=True))


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a|b", "line\nbreak"], ids=["escape", "pipe", "newline"])
def test_labels_of_a_data_set_can_neither_steer_a_terminal_nor_break_the_table(hostile: str) -> None:
    lines = rendered(result("a"), result("a", slice=f"key={hostile}"))
    assert (len(lines), "\x1b" in lines[4]) == (5, False)
    assert lines[4].replace("\\|", "").count("|") == lines[3].count("|")


def test_a_baseline_stands_behind_the_numbers_and_before_the_notes() -> None:
    other = Column("org/other", {Key("a", "half"): 0.75, Key("g", "half"): 0.625})
    given: Any = {"tasks": PAIR, "groups": (replace(GROUP, members=("a", "b")),), "baseline": other}
    three = [result("a"), result("b"), result("g")]
    assert table(*three, **given)[0][-3:] == ["Scored", "org/other", "Notes"]
    assert column("org/other", *three, **given) == {"g": "0.6250", "- a": "0.7500", "- b": "N/A"}
