from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from mmeval.errors import MissingDataError
from mmeval.program.calls import Call, Role
from mmeval.program.protocols import Ask
from mmeval.records.request import Request
from mmeval.records.sample import Sample
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose, select
from mmeval.task.task import Selection, Task, TaskOverrides
from mmeval.tasks.mmmg.categories import CATEGORIES
from tests.support.mmmg_tasks import SHARED_ROWS, TASKS, Counted
from tests.support.shipped_tasks import answered_by, scores_of, selected_samples, shipped

NAMES = [counted.task for counted in TASKS]
BOTH_JUDGES = frozenset(("judge", "gemini"))


@cache
def bundled(profile: str = "") -> Selection:
    """All tasks on their bundled samples, as a run with both judges has them."""
    return select(["mmmg"], overrides=TaskOverrides(data="bundled", profile=profile), roles=BOTH_JUDGES)


def task_of(name: str) -> Task:
    return next(task for task in bundled() if task.name == name)


def requests(task: Task) -> Iterator[tuple[Sample, Request]]:
    """Every request that the bundled samples of a task make."""
    for sample in task.dataset():
        program = task.protocol(Ask(sample, task.prompt(sample), task.wanted(sample), task.params, Role("model")))
        call = next(program)
        assert isinstance(call, Call)
        yield sample, call.request


# --- what there is ----------------------------------------------------------------------------------------------------


def test_the_group_has_the_49_tasks_of_the_paper_in_its_order() -> None:
    assert [task.name for task in bundled()] == NAMES


@pytest.mark.parametrize("counted", TASKS, ids=lambda counted: counted.id)
def test_the_id_that_the_authors_use_chooses_the_task(counted: Counted) -> None:
    assert counted.task in choose([counted.id], TaskIndex()).tasks


def test_an_id_chooses_one_task_and_the_shared_music_file_two() -> None:
    assert all(len(choose([counted.id], TaskIndex()).tasks) == 1 for counted in TASKS)
    assert sorted(choose(["a_music_attribute"], TaskIndex()).tasks) == ["mmmg_instrument_inclusion", "mmmg_music_tempo"]


def test_the_name_that_a_task_had_still_chooses_it() -> None:
    assert list(choose(["mmmg_a_structure"], TaskIndex()).tasks) == ["mmmg_audio_text_order"]


@pytest.mark.parametrize("counted", TASKS, ids=lambda counted: counted.id)
def test_the_expected_rows_and_media_are_those_of_the_paper(counted: Counted) -> None:
    (file,) = choose([counted.task], TaskIndex()).tasks.values()
    expected = file.keys.expected
    assert expected.rows == counted.rows
    assert expected.media == {k: n for k, n in (("image", counted.pictures), ("audio", counted.sounds)) if n}


def test_all_of_it_is_937_rows_487_pictures_and_42_sounds() -> None:
    assert sum(counted.rows for counted in TASKS) - SHARED_ROWS == 937
    assert (sum(counted.pictures for counted in TASKS), sum(counted.sounds for counted in TASKS)) == (487, 42)


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_the_groups_hold_what_the_papers_tables_do(category: Any) -> None:
    chosen = choose([category.name, "mmmg_leaderboard"], TaskIndex())
    assert chosen.groups[category.name].members == category.tasks
    assert {group.members for group in chosen.groups.values()} > set(category.groups.values())


def test_every_group_weighs_its_tasks_alike() -> None:
    groups = choose(["mmmg", "mmmg_leaderboard"], TaskIndex()).groups
    assert len(groups) == 1 + 4 + 13
    assert {(m.metric, m.weight_by_size) for group in groups.values() for m in group.metrics} == {("overall", False)}
    assert [name for name, group in groups.items() if not group.metrics] == ["mmmg"]
    assert {group.layout for group in groups.values()} == {"mmmg"}


# --- how it is asked --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_each_instruction_is_generated_four_times(name: str) -> None:
    assert task_of(name).repeats == 4


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_answer_is_wrong_by_a_rule_of_the_task_or_of_its_metric(name: str) -> None:
    rule = task_of(name).missing_output
    assert rule == (None if name == "mmmg_transcript_generation" else 0)


@pytest.mark.parametrize(("profile", "values"), [("standard", [0.0, 0.0, 0.0]), ("official", [0.0, 0.0, 1.0])])
def test_a_missing_recording_is_wrong_or_an_empty_text_that_may_keep_to_constraints(
    profile: str, values: list[float]
) -> None:
    task = next(task for task in bundled(profile) if task.name == "mmmg_transcript_generation")
    assert scores_of("empty", task, "transcript_constraints") == values


@pytest.mark.parametrize("name", NAMES)
def test_judges_are_asked_without_chance(name: str) -> None:
    task = task_of(name)
    asked = {role for metric in task.metrics for role in metric.bound.roles}
    assert asked == set(task.roles)
    assert {(params.temperature, params.top_p) for params in task.roles.values()} <= {(0, 1)}


def test_without_the_second_judge_six_tasks_are_unavailable() -> None:
    tasks = select(["mmmg"], overrides=TaskOverrides(data="bundled"), roles=frozenset({"judge"}))
    lacking = [task.name for task in tasks if any("'gemini'" in metric.unavailable for metric in task.metrics)]
    assert lacking == [
        "mmmg_absolute_spatial",
        "mmmg_multilingual_text_rendering",
        "mmmg_object_modifying",
        "mmmg_self_relative_spatial",
        "mmmg_self_absolute_spatial",
        "mmmg_interleaved_math",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_is_the_instruction_with_the_media_that_belong_to_it(name: str) -> None:
    for sample, request in requests(task_of(name)):
        assert [message.to_json() for message in request.messages] == [m.to_json() for m in sample.input]
        assert request.messages[0].content.parts[0].text == sample.input[0].content.raw


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_compare_with_reaches_the_model(name: str) -> None:
    task = task_of(name)
    for sample, request in requests(task):
        compared = {medium.sha256 for reference in sample.references for medium in reference.media()}
        sent = {medium.sha256 for message in request.messages for medium in message.content.media()}
        words = "".join(message.content.raw for message in request.messages)
        assert sent.isdisjoint(compared)
        assert not any(reference.raw and reference.raw in words for reference in sample.references)


def test_the_views_to_compare_with_are_other_pictures_than_the_given_one() -> None:
    ((sample, request),) = requests(task_of("mmmg_multi_view"))
    sent = {medium.sha256 for medium in request.messages[0].content.media()}
    assert len(sent) == 1
    assert sent.isdisjoint(medium.sha256 for medium in sample.references[0].media("image"))


# --- the bundled samples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["", "official"])
@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_sample_can_be_scored_by_every_metric(name: str, profile: str) -> None:
    task = next(task for task in bundled(profile) if task.name == name)
    samples = selected_samples(task)
    assert samples
    assert [m.bound.sample_fault(s) for s in samples for m in task.metrics if m.bound.metric.check] in (
        [""] * len(samples) * sum(m.bound.metric.check is not None for m in task.metrics),
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_kinds_of_the_task_are_those_of_its_samples(name: str) -> None:
    task = task_of(name)
    given = {part.kind for sample in task.dataset() for message in sample.input for part in message.content.parts}
    answered = {
        p.kind for s in task.dataset() for r in s.references for p in r.parts if p.kind != "text" or p.raw.strip()
    }
    assert given == set(task.input_modalities)
    assert not answered or answered <= set(task.wanted(next(iter(task.dataset()))))


SCORED_BY_PROGRAMS = {
    "mmmg_region_fill": "region_fill",
    "mmmg_border_fill": "border_fill",
    "mmmg_multi_view": "ssim",
    "mmmg_multi_angle": "ssim",
    "mmmg_interleaved_object_adding": "edit_outside_ssim",
    "mmmg_interleaved_color_modifying": "edit_outside_ssim",
    "mmmg_text_editing": "edit_outside_ssim",
    "mmmg_object_adding": "edit_outside_ssim",
    "mmmg_object_removing": "edit_outside_ssim",
    "mmmg_object_modifying": "edit_outside_ssim",
    "mmmg_image_text_order": "part_order",
    "mmmg_music_intensity": "intensity",
    "mmmg_audio_text_order": "part_order",
}


@pytest.mark.parametrize("profile", ["", "official"])
@pytest.mark.parametrize(("name", "metric"), SCORED_BY_PROGRAMS.items())
def test_a_right_answer_is_right_by_both_profiles(name: str, metric: str, profile: str) -> None:
    task = next(task for task in bundled(profile) if task.name == name)
    assert set(scores_of("reference", task, metric)) == {1.0}


def test_an_empty_answer_is_in_no_order() -> None:
    assert set(scores_of("empty", shipped("mmmg_audio_text_order"), "part_order")) == {0.0}


def test_reference_media_of_the_samples_are_there() -> None:
    answers = [answered_by("reference", task, s) for task in bundled() for s in task.dataset() if s.references]
    assert len(answers) > 40
    assert not [part for answer in answers if answer.output for part in answer.output.parts if part.dangling]


# --- without data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mmmg_audio_text_order", "mmmg_multilingual_text_rendering"])
def test_without_data_the_way_to_get_them_is_said(name: str) -> None:
    task = select([name]).tasks[0]
    with pytest.raises(MissingDataError, match=r"no seed_instruction/\w+\.jsonl.*--data_dir.*--data bundled"):
        task.dataset()
