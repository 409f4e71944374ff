from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.run.availability import say_unavailable
from mmeval.run.task_run import score_definition, scoring_plan
from mmeval.task.build import build
from mmeval.task.derived_entries import derived_outputs, with_pieces
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from mmeval.task.task import Task, TaskOverrides
from tests.support.applying import registered
from tests.support.task_folder import write_files

TWO = "  - metric: exact_match\n  - metric: strict_structure\n"
OVERALL = "  - metric: overall\n    of: [exact_match, strict_structure]\n"


def built(folder: Path, entries: str, *, more: str = "", overrides: TaskOverrides | None = None) -> Task:
    write_files(folder, {"t.yaml": f"task: t\nmetadata: {{version: 1}}\n{more}metric_list:\n{entries}"})
    return build(parse_task(TaskFiles([folder]).document(folder / "t.yaml")), overrides)


def refused(folder: Path, entries: str) -> str:
    with pytest.raises(TaskFileError) as caught:
        built(folder, entries)
    return str(caught.value).removeprefix(f"{folder}/")


def test_range_and_direction_follow_from_the_pieces(tmp_path: Path) -> None:
    metrics = built(tmp_path, f"{TWO}{OVERALL}").metrics
    assert (metrics[2].bound.metric.range, metrics[2].bound.metric.higher_is_better) == ((0, 1), True)
    low = built(tmp_path, "  - metric: wer\n  - metric: overall\n    of: [wer]\n").metrics[1].bound.metric
    assert (low.range, low.higher_is_better) == ((0, float("inf")), False)


def test_its_pieces_may_stand_below_it(tmp_path: Path) -> None:
    assert built(tmp_path, f"{OVERALL}{TWO}").metrics[0].unavailable == ""


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        (
            f"{TWO}  - metric: overall\n    of: [exact_mach]\n",
            "t.yaml:7: metric_list[2].of: unknown output 'exact_mach'; did you mean \"exact_match\"? (the task's other "
            "metrics give exact_match, strict_structure;",
        ),
        (f"{TWO}  - metric: overall\n", "t.yaml:6: metric_list[2]: name the outputs that overall is made of (the task"),
        (f"{TWO}  - metric: overall\n    of: []\n", "t.yaml:7: metric_list[2].of: name the outputs"),
        (f"{TWO}  - metric: overall\n    of: [overall]\n", "t.yaml:7: metric_list[2].of: overall cannot be made of"),
        (f"{TWO}  - metric: overall\n    of: [exact_match, exact_match]\n", "t.yaml:7: metric_list[2].of: an output"),
        (
            f"{TWO}  - metric: overall\n    of: exact_match\n",
            "t.yaml:7: metric_list[2].of: must be a list, each a text",
        ),
        (
            "  - metric: exact_match\n  - metric: wer\n  - metric: overall\n    of: [wer, exact_match]\n",
            "t.yaml:7: metric_list[2].of: higher is better for exact_match, lower is better for wer",
        ),
        (
            f"{TWO}  - metric: overall\n    of: [exact_match]\n    combine: produkt\n",
            "t.yaml:8: metric_list[2].combine: must be product, mean or minimum, not 'produkt'; did you mean",
        ),
    ],
    ids=["unknown", "none", "empty", "itself", "twice", "no list", "directions", "combine"],
)
def test_what_it_cannot_be_made_of_is_named_with_its_line(tmp_path: Path, entries: str, complaint: str) -> None:
    assert refused(tmp_path, entries).startswith(complaint)


def test_a_fault_of_a_piece_is_told_once(tmp_path: Path) -> None:
    said = refused(tmp_path, f"  - metric: exact_match\n    strip: 3\n  - metric: strict_structure\n{OVERALL}")
    assert said.count("strip") == 1


def test_a_piece_that_is_unavailable_makes_it_unavailable_with_the_same_way_out(tmp_path: Path) -> None:
    judged = "  - metric: judge_yes_no\n  - metric: overall\n    of: [judge_yes_no]\n"
    task = built(tmp_path, judged)
    said = task.metrics[1].unavailable
    assert said.startswith("it is made of judge_yes_no, which is unavailable: it asks the role 'judge'")
    assert scoring_plan(task, tmp_path).unavailable["overall"] == said


def test_a_piece_that_is_skipped_is_named_with_what_adds_it(tmp_path: Path) -> None:
    task = built(tmp_path, f"{TWO}{OVERALL}", overrides=TaskOverrides(skip_metric=("exact_match",)))
    assert [metric.bound.name for metric in task.metrics] == ["strict_structure", "overall"]
    assert task.metrics[1].unavailable == (
        "it is made of exact_match, which was skipped (--skip_metric); mmeval score RUN --metrics overall adds both"
    )


def test_what_lacks_is_said_of_the_piece_and_of_one_that_was_skipped_in_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judged = "  - metric: judge_yes_no\n  - metric: overall\n    of: [judge_yes_no]\n"
    say_unavailable([built(tmp_path, judged)], strict=False)
    assert [record.getMessage()[:30] for record in caplog.records] == ["t: the metric judge_yes_no is "]
    caplog.clear()
    say_unavailable([built(tmp_path, judged, overrides=TaskOverrides(skip_metric=("judge_yes_no",)))], strict=False)
    assert [record.getMessage()[:25] for record in caplog.records] == ["t: the metric overall is "]


def test_skipping_the_derived_metric_leaves_its_pieces(tmp_path: Path) -> None:
    task = built(tmp_path, f"{TWO}{OVERALL}", overrides=TaskOverrides(skip_metric=("overall",)))
    assert [metric.unavailable for metric in task.metrics] == ["", ""]


def test_a_score_set_is_named_by_the_pieces_and_their_ranges_and_waits_for_these_alone(tmp_path: Path) -> None:
    definition = score_definition(built(tmp_path, f"{TWO}{OVERALL}"), {})
    assert definition["outputs"] == ["exact_match", "strict_structure"]
    assert definition["metrics"][2]["pieces"] == {"exact_match": [0, 1], "strict_structure": [0, 1]}
    other = score_definition(built(tmp_path, f"{TWO}{OVERALL}    combine: mean\n"), {})
    assert definition != other


def test_a_range_without_an_end_is_null_in_the_definition(tmp_path: Path) -> None:
    task = built(tmp_path, "  - metric: wer\n  - metric: overall\n    of: [wer]\n")
    assert score_definition(task, {})["metrics"][1]["pieces"] == {"wer": [0, None]}


def test_the_scoring_processes_do_not_know_of_it(tmp_path: Path) -> None:
    plan = scoring_plan(built(tmp_path, f"{TWO}{OVERALL}"), tmp_path)
    assert [name for name, _, _ in plan.metrics] == ["exact_match", "strict_structure"]


def test_what_is_made_of_something_lost_is_lost(tmp_path: Path) -> None:
    metrics = built(tmp_path, f"{TWO}{OVERALL}").metrics
    assert derived_outputs(metrics, ["exact_match"]) == {"overall"}
    assert derived_outputs(metrics, ["wer"]) == set()


def test_an_entry_brings_those_of_its_pieces() -> None:
    exact: dict[str, Any] = {"metric": "exact_match", "strip": False}
    structure: dict[str, Any] = {"metric": "strict_structure"}
    made: dict[str, Any] = {"metric": "overall", "of": ["exact_match"]}
    listed = {entry["metric"]: entry for entry in (exact, structure, made, {"metric": "not_here"})}

    assert with_pieces([made], listed, {}) == [exact, made]
    assert with_pieces([made], listed, {"overall": {"of": ["strict_structure"]}}) == [structure, made]
    assert with_pieces([exact], listed, {}) == [exact]
    assert with_pieces([{"metric": "overall", "of": ["overall", 3]}], listed, {}) == [
        {"metric": "overall", "of": ["overall", 3]}
    ]


def test_it_cannot_be_scored_on_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    from mmeval.__main__ import main

    assert main(["metric", "overall", "--answer", "x"]) == 2
    assert "takes no answer; a task lists it" in capsys.readouterr().err


def test_switches_are_checked_when_it_is_bound() -> None:
    with pytest.raises(UsageError, match="must be a list"):
        bind(load_metric("overall"), {"of": 3})


WORTH = "  - metric: sound_worth\n  - metric: text_worth\n"
WHAT_THERE_IS = "  - metric: what_there_is\n    of: [sound_worth, text_worth]\n"
OF_THAT = "  - metric: overall\n    of: [what_there_is]\n"


@pytest.fixture
def applying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.usefixtures("applying")
def test_one_that_takes_missing_pieces_is_there_while_one_of_them_is_and_knows_what_it_goes_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = built(tmp_path, f"{WORTH}{WHAT_THERE_IS}{OF_THAT}")
    _, text, made, of_that = task.metrics

    assert (made.unavailable, of_that.unavailable) == ("", "")
    assert made.without == of_that.without == {"text_worth": text.unavailable}
    say_unavailable([task], strict=False)
    lacking, partial = (record.getMessage() for record in caplog.records)
    assert lacking.startswith("t: the metric text_worth is unavailable: it asks the role 'judge'")
    assert lacking.endswith("add --role judge=BACKEND")
    assert partial == "t: the metrics what_there_is, overall are partial, without text_worth: it is unavailable"


@pytest.mark.usefixtures("applying")
def test_a_piece_that_is_skipped_is_left_out_of_it_aloud_and_is_no_fault_of_a_strict_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    skipping = TaskOverrides(skip_metric=("text_worth",))
    task = built(tmp_path, f"{WORTH}{WHAT_THERE_IS}", overrides=skipping)
    made = task.metrics[1]

    assert (made.unavailable, list(made.without)) == ("", ["text_worth"])
    say_unavailable([task], strict=True)
    assert caplog.records[0].getMessage() == (
        "t: the metric what_there_is is partial, without text_worth: it is left out by --skip_metric; mmeval score RUN "
        "--metrics what_there_is adds it"
    )
    assert score_definition(task, {})["metrics"][1]["pieces"] == {"sound_worth": [0, 1]}


@pytest.mark.usefixtures("applying")
def test_without_any_of_its_pieces_it_is_unavailable(tmp_path: Path) -> None:
    entries = "  - metric: text_worth\n  - metric: judge_yes_no\n  - metric: what_there_is\n    of: {}\n"
    both = built(tmp_path, entries.format("[text_worth, judge_yes_no]")).metrics[2]
    one = built(tmp_path, entries.format("[text_worth]")).metrics[2]

    assert both.unavailable.startswith(
        "it is made of text_worth, judge_yes_no, which are all unavailable; the first: it asks the role 'judge'"
    )
    assert one.unavailable.startswith("it is made of text_worth, which is unavailable: it asks the role 'judge'")
    skipping = TaskOverrides(skip_metric=("text_worth",))
    gone = built(tmp_path, entries.format("[text_worth]"), overrides=skipping).metrics[1]
    assert gone.unavailable.startswith("it is made of text_worth, which was skipped")
