import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.sampling import Subset
from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.notes import missing
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.run.options import BackendSpec, Unfinished
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task, UnavailableTask
from tests.support.outcomes import outcome, result, task

CONTEXT = ReportContext("openai", {"model": "m", "api_key": "sk-secret"}, limit=5)
GROUP = Group("g", "g", ("a",), (GroupMetric("half"),))


def rendered(
    *results: Result,
    tasks: tuple[Task, ...] = (task("a"),),
    groups: tuple[Group, ...] = (),
    context: ReportContext = CONTEXT,
    roles: Mapping[str, BackendSpec] | None = None,
    baseline: Column | None = None,
    **more: Any,
) -> list[str]:
    made = outcome(Path(), *results, tasks=tasks, groups=groups, **more)
    document = json.loads(json.dumps(results_document(made, context, {})))
    return render(document, made.selection, context, roles=roles, baseline=baseline).splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_table_shows_a_value_with_its_error_and_how_many_stand_behind_it() -> None:
    found = result("a", 0.25, stderr=0.05, ci95=(0.15, 0.35))
    lines = rendered(found, tasks=(task("a", alias="Task A"),))
    assert lines == [
        "openai (model=m,api_key=***), gen_kwargs: (None), limit: 5, num_fewshot: None, batch_size: auto",
        "|Tasks |Version|Filter|n-shot|Metric|↑/↓| Value|±|Stderr|         95 % CI|Scored|",
        "|------|-------|------|-----:|------|---|-----:|-|-----:|---------------:|-----:|",
        "|Task A|1.0    |none  |     0|half  |↑  |0.2500|±|0.0500|0.1500 to 0.3500| 10/10|",
    ]


def test_what_is_unknown_is_never_shown_as_zero() -> None:
    lines = rendered(result("a", None, unavailable=10))
    assert cells(lines[3])[6:] == ["N/A", "±", "N/A", "N/A", "0/10", "10 unavailable"]


def test_what_is_missing_stands_beside_the_value_with_its_bounds() -> None:
    lines = rendered(result("a", failed=2, unscored=1, bounds=(0.35, 0.65)))
    assert cells(lines[3])[-2:] == ["7/10", "2 failed, 1 unscored, bounds 0.3500 to 0.6500"]


def test_suspended_scoring_is_said_before_what_was_lost() -> None:
    stopped = result("a", None, suspended=True, unscored=4, bounds=(0.3, 0.7))
    assert missing(stopped) == "scoring suspended, 4 unscored, bounds 0.3000 to 0.7000"


def test_the_weights_of_a_group_are_shown_where_they_differ() -> None:
    groups = tuple(Group(name, name, ("a", "b"), (GroupMetric("half"),)) for name in ("plain", "sized"))
    plain, sized = (
        result(name, weights=w) for name, w in (("plain", {"a": 0.5, "b": 0.5}), ("sized", {"a": 0.75, "b": 0.25}))
    )
    lines = rendered(plain, sized, tasks=(task("a"), task("b")), groups=groups)
    notes = {cells(line)[0]: cells(line)[-1] for line in lines if line.startswith("|")}
    assert (notes["plain"], notes["sized"]) == ("", "weights: a 0.7500, b 0.2500")


def test_bounds_are_left_out_when_nothing_was_lost() -> None:
    assert missing(result("a", unsupported=3, bounds=(0.5, 0.5))) == "3 unsupported"


def test_bundled_data_mark_a_result_and_its_group_as_not_comparable() -> None:
    tasks = (task("a", comparable=False), task("b"))
    lines = rendered(result("a"), result("b"), result("g"), tasks=tasks, groups=(GROUP,))
    notes = {cells(line)[0]: cells(line)[-1] for line in lines if line.startswith("|")}
    assert (notes["g"], notes["- a"], notes["b"]) == ("not comparable", "not comparable", "")


def test_a_subset_is_noted_at_its_task_and_at_its_group() -> None:
    subsets = {"a": Subset(31026, 3000, ("limit",)), "b": Subset(10, 10, ("limit",))}
    tasks = (task("a"), task("b"))
    lines = rendered(result("a"), result("b"), result("g"), tasks=tasks, groups=(GROUP,), subsets=subsets)
    notes = {cells(line)[0]: cells(line)[-1] for line in lines if line.startswith("|")}
    assert (notes["g"], notes["- a"], notes["b"]) == ("subset", "subset: 3,000 of 31,026", "")


def test_slices_do_not_repeat_how_much_of_the_whole_was_asked() -> None:
    found = (result("a"), result("a", slice="level=easy"))
    cut, left = {"a": Subset(300, 20, ("limit",))}, {"a": Unfinished(16, 300)}
    lines = rendered(*found, tasks=(task("a", comparable=False),), subsets=cut, unfinished=left)
    notes = [cells(line)[-1] for line in lines[3:]]
    assert notes == ["not comparable; unfinished: 16 of 300; subset: 20 of 300", "not comparable"]


def test_the_line_above_the_table_names_the_protocol_that_the_run_was_given() -> None:
    given = ReportContext("hf", settings={"protocol": "text_then_media"})
    line = rendered(context=given)[0]
    assert line.endswith("batch_size: auto, protocol: text_then_media")


def test_the_line_above_the_table_names_who_judged_and_a_profile_that_is_not_standard() -> None:
    roles = {"judge": BackendSpec("openai", {"model": "j", "api_key": "sk-secret"}), "captioner": BackendSpec("hf")}
    official = replace(task("b"), config={"profile": "official"})
    tables = [rendered(tasks=(*one, official), roles=roles) for one in ((), (task("a"),))]
    ends = [lines[0].partition("batch_size: auto, ")[2] for lines in tables]
    who = "judge: openai (model=j,api_key=***), captioner: hf (None)"
    assert ends == [f"{who}, profile: official", f"{who}, profile: official (b)"]


def test_groups_come_first_with_their_members_indented_and_have_a_table_of_their_own() -> None:
    groups = (Group("outer", "Outer", ("inner", "b")), Group("inner", "Inner", ("a",), (GroupMetric("half"),)))
    tasks = (task("a"), task("b"), task("c"))
    lines = rendered(result("a"), result("b"), result("c"), result("inner"), tasks=tasks, groups=groups)
    names = [line[1:].split("|")[0].rstrip() for line in lines[1:] if line.startswith("|") and "---" not in line]
    assert names == ["Tasks", "Outer", " - Inner", "  - a", " - b", "c", "Groups", " - Inner"]


def test_slices_stand_below_their_task_each_with_all_its_metrics() -> None:
    results = [
        result("a", metric=metric, slice=label)
        for metric in ("one", "two")
        for label in ("", "level=hard", "level=easy")
    ]
    lines = rendered(*results)
    assert [(cells(line)[0], cells(line)[4]) for line in lines[3:]] == [
        ("a", "one"),
        ("", "two"),
        ("- level=hard", "one"),
        ("", "two"),
        ("- level=easy", "one"),
        ("", "two"),
    ]


def test_lower_is_better_points_down() -> None:
    lines = rendered(result("a", higher_is_better=False))
    assert cells(lines[3])[5] == "↓"


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a|b", "line\nbreak"], ids=["escape", "pipe", "newline"])
def test_labels_of_a_data_set_can_neither_steer_a_terminal_nor_break_the_table(hostile: str) -> None:
    lines = rendered(result("a"), result("a", slice=f"key={hostile}"))
    assert len(lines) == 5
    assert "\x1b" not in lines[4]
    assert lines[4].replace("\\|", "").count("|") == lines[3].count("|")


def test_a_task_without_results_is_shown_without_numbers() -> None:
    lines = rendered()
    assert cells(lines[3]) == ["a", "1.0", *[""] * 9]


def test_a_baseline_stands_behind_the_numbers_and_before_the_notes() -> None:
    column = Column("org/other", {Key("a", "half"): 0.75, Key("g", "half"): 0.625})
    tasks = (task("a", comparable=False), task("b"))
    group = replace(GROUP, members=("a", "b"))
    lines = rendered(result("a"), result("b"), result("g"), tasks=tasks, groups=(group,), baseline=column)
    assert cells(lines[1])[-3:] == ["Scored", "org/other", "Notes"]
    shown = {cells(line)[0]: cells(line)[-2] for line in lines if line.startswith("|")}
    assert (shown["g"], shown["- a"], shown["- b"]) == ("0.6250", "0.7500", "N/A")


def test_a_task_without_numbers_has_an_empty_place_in_the_column_of_a_baseline() -> None:
    lines = rendered(baseline=Column("other"))
    assert len(cells(lines[1])) == len(cells(lines[3]))


def test_a_task_whose_data_are_not_here_is_shown_below_its_group() -> None:
    made = outcome(Path(), result("a"), result("g"), tasks=(task("a"),), groups=(replace(GROUP, members=("a", "b")),))
    selection = replace(made.selection, left_out=(UnavailableTask("b", "B", "1.0", "no rows"),))
    document = results_document(replace(made, selection=selection), CONTEXT, {})
    lines = render(document, selection, CONTEXT).splitlines()
    notes = {cells(line)[0]: cells(line)[-1] for line in lines[3:6]}
    assert notes == {"g": "1 of 2 tasks left out", "- a": "", "- B": "left out: its data are not here"}
