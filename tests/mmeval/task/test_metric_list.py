from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import SeveralFaultsError
from mmeval.task.build import build
from mmeval.task.metric_list import numbers_of
from tests.support.task_folder import built, parsed, task

STEPS = "{function: regex, regex_pattern: '[AB]'}, {function: take_first}"
LISTED = f"filter_list: [{{name: letter, filter: [{STEPS}]}}]"


def test_a_metric_gives_a_number_for_each_filter(tmp_path: Path) -> None:
    (metric,) = built(tmp_path, LISTED).metrics
    assert metric.bound.metric.outputs == ("exact_match,letter",)


def test_a_judge_reads_the_whole_answer(tmp_path: Path) -> None:
    file = parsed(tmp_path, task("t", LISTED))
    assert numbers_of(file, "judge_grade") == ("judge_grade",)


def test_a_metric_of_sounds_alone_has_no_filtered_numbers(tmp_path: Path) -> None:
    file = parsed(tmp_path, task("t", LISTED))
    assert numbers_of(file, "audio_quality") == ("audio_quality",)


@pytest.mark.parametrize(
    ("step", "key", "word"),
    [
        ("{function: regx}", "function", '"regex"'),
        ("{function: regex, patern: x}", "patern", "unknown key"),
        ("{function: regex, regex_pattern: '('}", "regex_pattern", "regular"),
        ("{function: regex, group_select: x}", "group_select", "whole number"),
        ("{function: map}", "", "mapping_dict"),
        ("{function: take_first_k, k: 0}", "k", "1 or more"),
        ("{function: take_first_k, k: 9}", "k", "raise repeats"),
        ("{function: custom, filter_fn: x}", "function", "register a metric"),
        ("{function: multi_choice_regex}", "function", "choice"),
    ],
)
def test_a_step_that_cannot_be_taken_is_named_with_its_place(
    tmp_path: Path, step: str, key: str, word: str
) -> None:
    with pytest.raises(TaskFileError) as caught:
        built(tmp_path, f"filter_list: [{{name: x, filter: [{step}]}}]")
    place = f"filter_list[0].filter[0]{'.' if key else ''}{key}"
    assert (caught.value.name, word in caught.value.message) == (place, True)


def test_every_faulty_step_is_named(tmp_path: Path) -> None:
    steps = "[{function: regx}, {function: lower}]"
    with pytest.raises(SeveralFaultsError) as caught:
        built(tmp_path, f"filter_list: [{{name: x, filter: {steps}}}]")
    assert len(caught.value.faults) == 2


def test_two_filters_cannot_have_one_name(tmp_path: Path) -> None:
    pipeline = f"{{name: x, filter: [{STEPS}]}}"
    with pytest.raises(TaskFileError, match="twice"):
        built(tmp_path, f"filter_list: [{pipeline}, {pipeline}]")


def test_a_score_of_each_answer_is_not_made_of_a_vote(tmp_path: Path) -> None:
    pipeline = "{name: vote, filter: [{function: majority_vote}]}"
    overall = "{metric: overall, of: ['exact_match,vote']}"
    text = task("t", f"filter_list: [{pipeline}]").replace(
        "  - metric: exact_match\n", f"  - metric: exact_match\n  - {overall}\n"
    )
    with pytest.raises(TaskFileError, match="majority_vote"):
        build(parsed(tmp_path, text))
