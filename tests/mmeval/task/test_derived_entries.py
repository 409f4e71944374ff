import math
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import TaskFileError
from mmeval.run.availability import unavailable_findings
from mmeval.run.task_run import score_definition, scoring_plan
from mmeval.task.build import build
from mmeval.task.derived_entries import derived_outputs, with_pieces
from mmeval.task.task import Selection, Task, TaskOverrides
from tests.support.task_folder import parsed
from tests.support.toy import registered

TWO = "  - metric: exact_match\n  - metric: strict_structure\n"
OVERALL = "  - metric: overall\n    of: [exact_match, strict_structure]\n"
OF_WER = "  - metric: wer\n  - metric: overall\n    of: [wer]\n"
JUDGED = "  - metric: judge_yes_no\n  - metric: overall\n    of: [judge_yes_no]\n"


def built(folder: Path, entries: str, *skipped: str) -> Task:
    file = parsed(folder, f"task: t\nmetadata: {{version: 1}}\nmetric_list:\n{entries}")
    return build(file, TaskOverrides(skip_metric=skipped))


def test_an_unavailable_piece_makes_it_unavailable(tmp_path: Path) -> None:
    task = built(tmp_path, JUDGED)
    piece, overall = (metric.unavailable for metric in task.metrics)
    assert piece and overall == piece
    assert scoring_plan(task, tmp_path).unavailable["overall"] == overall
    found = unavailable_findings(Selection((task,)))
    assert [(one.kind, one.subject.metric) for one in found] == [
        ("missing_role", "judge_yes_no"),
        ("missing_role", "overall"),
    ]


def test_a_piece_that_is_skipped_makes_it_unavailable_with_the_command_that_adds_both(
    tmp_path: Path,
) -> None:
    made = built(tmp_path, f"{TWO}{OVERALL}", "exact_match").metrics
    assert [metric.bound.name for metric in made] == ["strict_structure", "overall"]
    (skipped,) = made[1].lacks
    assert "exact_match" in skipped.cause
    assert skipped.remedy == "mmeval score {RUN} --metrics overall"
    without = built(tmp_path, f"{TWO}{OVERALL}", "overall").metrics
    assert [metric.unavailable for metric in without] == ["", ""]


def test_an_entry_brings_those_of_its_pieces() -> None:
    exact: dict[str, Any] = {"metric": "exact_match", "strip": False}
    structure: dict[str, Any] = {"metric": "strict_structure"}
    made: dict[str, Any] = {"metric": "overall", "of": ["exact_match"]}
    odd: dict[str, Any] = {"metric": "overall", "of": ["overall", 3]}
    listed = {
        entry["metric"]: entry
        for entry in (exact, structure, made, {"metric": "not_here"})
    }
    assert with_pieces([made], listed, {}) == [exact, made]
    assert with_pieces([made], listed, {"overall": {"of": ["strict_structure"]}}) == [
        structure,
        made,
    ]
    assert with_pieces([exact], listed, {}) == [exact]
    assert with_pieces([odd], listed, {}) == [odd]


WORTH = "  - metric: sound_worth\n  - metric: text_worth\n"
WHAT_THERE_IS = "  - metric: what_there_is\n    of: [sound_worth, text_worth]\n"
OF_THAT = "  - metric: overall\n    of: [what_there_is]\n"


def test_one_that_takes_missing_pieces(tmp_path: Path) -> None:
    with registered():
        task = built(tmp_path, f"{WORTH}{WHAT_THERE_IS}{OF_THAT}")
        skipping = built(tmp_path, f"{WORTH}{WHAT_THERE_IS}", "text_worth")
    _, text, made, of_that = task.metrics

    assert (made.unavailable, of_that.unavailable) == ("", "")
    assert text.unavailable
    assert [*made.without] == [*of_that.without] == ["text_worth"]
    assert (skipping.metrics[1].unavailable, [*skipping.metrics[1].without]) == (
        "",
        ["text_worth"],
    )
    assert score_definition(skipping, {})["metrics"][1]["pieces"] == {
        "sound_worth": [0, 1]
    }
    missing, *partial = unavailable_findings(Selection((task,)))
    assert missing.subject.metric == "text_worth"
    assert [(one.kind, one.subject.metric) for one in partial] == [
        ("partial", "what_there_is"),
        ("partial", "overall"),
    ]
    (left_out,) = unavailable_findings(Selection((skipping,)))
    assert left_out.remedy == "mmeval score {RUN} --metrics what_there_is"


def test_without_any_of_its_pieces_it_is_unavailable(tmp_path: Path) -> None:
    entries = (
        "  - metric: text_worth\n  - metric: judge_yes_no\n  - metric: what_there_is\n"
        "    of: {}\n"
    )
    with registered():
        both = (
            built(tmp_path, entries.format("[text_worth, judge_yes_no]"))
            .metrics[2]
            .unavailable
        )
        one = built(tmp_path, entries.format("[text_worth]")).metrics[2].unavailable
        gone = (
            built(tmp_path, entries.format("[text_worth]"), "text_worth")
            .metrics[1]
            .unavailable
        )
    assert ("no judge" in both, "no judge" in one) == (True, True)
    assert "--skip_metric" in gone


def test_its_number_is_described_by_its_pieces_and_waits_for_these_alone(
    tmp_path: Path,
) -> None:
    task, wer = built(tmp_path, f"{TWO}{OVERALL}"), built(tmp_path, OF_WER)
    overall, low = task.metrics[2].bound.metric, wer.metrics[1].bound.metric
    assert (overall.range, overall.higher_is_better) == ((0, 1), True)
    assert (low.range, low.higher_is_better) == ((0, math.inf), False)
    assert built(tmp_path, f"{OVERALL}{TWO}").metrics[0].unavailable == "", (
        "they may stand below it"
    )
    definition = score_definition(task, {})
    assert definition["outputs"] == ["exact_match", "strict_structure"]
    assert definition["metrics"][2]["pieces"] == {
        "exact_match": [0, 1],
        "strict_structure": [0, 1],
    }
    assert definition != score_definition(
        built(tmp_path, f"{TWO}{OVERALL}    combine: mean\n"), {}
    )
    assert score_definition(wer, {})["metrics"][1]["pieces"] == {"wer": [0, None]}
    assert [name for name, _, _ in scoring_plan(task, tmp_path).metrics] == [
        "exact_match",
        "strict_structure",
    ]
    assert [
        derived_outputs(task.metrics, [lost]) for lost in ("exact_match", "wer")
    ] == [{"overall"}, set()]


def test_a_fault_of_a_piece_is_reported_once(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError) as caught:
        built(
            tmp_path,
            "  - metric: exact_match\n    strip: 3\n  - metric: strict_structure\n"
            f"{OVERALL}",
        )
    assert str(caught.value).count("strip") == 1
