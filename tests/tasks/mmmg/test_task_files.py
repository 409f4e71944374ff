import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

import mmeval.tasks.mmmg
from mmeval.dataset.bad_sample import rows_of
from mmeval.program.calls import Call, Role
from mmeval.program.protocols import Ask
from mmeval.records import Request, Sample
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose, select
from mmeval.task.task import Selection, Task, TaskOverrides
from mmeval.tasks.mmmg.categories import CATEGORIES
from tests.support.shipped_tasks import (
    SHARED_ROWS,
    TASKS,
    answered_by,
    scores_of,
    selected_samples,
    shipped,
)

NAMES = [counted.task for counted in TASKS]
LABEL = "never to be shown"


@cache
def bundled(profile: str = "") -> Selection:
    """All tasks on their bundled samples, as a run with both judges has them."""
    overrides = TaskOverrides(data="bundled", profile=profile)
    return select(["mmmg"], overrides=overrides, roles=frozenset(("judge", "gemini")))


def task_of(name: str, profile: str = "") -> Task:
    return next(task for task in bundled(profile) if task.name == name)


def requests(task: Task) -> Iterator[tuple[Sample, Request]]:
    """Every request that the samples of a task make."""
    for sample in rows_of(task.dataset()):
        program = task.protocol(
            Ask(
                sample,
                task.prompt(sample),
                task.output_kinds(sample),
                task.params,
                Role("model"),
            )
        )
        call = next(program)
        assert isinstance(call, Call)
        yield sample, call.request


def test_the_49_tasks_are_those_of_the_paper_in_its_order_with_its_ids_rows_and_media() -> (
    None
):
    assert [task.name for task in bundled()] == NAMES
    index = TaskIndex()
    for counted in TASKS:
        ((name, file),) = choose([counted.id], index).tasks.items()
        expected = file.keys.expected
        assert name == counted.task
        media = {
            kind: n
            for kind, n in (("image", counted.pictures), ("audio", counted.sounds))
            if n
        }
        assert (expected.rows, expected.media) == (counted.rows, media)
    assert sum(counted.rows for counted in TASKS) - SHARED_ROWS == 937
    assert (
        sum(counted.pictures for counted in TASKS),
        sum(counted.sounds for counted in TASKS),
    ) == (487, 42)
    assert sorted(choose(["a_music_attribute"], TaskIndex()).tasks) == [
        "mmmg_instrument_inclusion",
        "mmmg_music_tempo",
    ]
    assert list(choose(["mmmg_a_structure"], TaskIndex()).tasks) == [
        "mmmg_audio_text_order"
    ]


def test_the_groups_share_the_categories_out_and_weigh_their_tasks_alike() -> None:
    rows = [
        yaml.safe_load(file.read_text())
        for file in Path(mmeval.tasks.mmmg.__path__[0]).rglob("*.yaml")
    ]
    files = {keys["group"]: tuple(keys["task"]) for keys in rows if "group" in keys}
    assert [len(category.tasks) for category in CATEGORIES] == [14, 20, 8, 7]
    assert sorted(task for category in CATEGORIES for task in category.tasks) == sorted(
        NAMES
    )
    for category in CATEGORIES:
        assert category.tasks == files[category.name]
        assert sorted(
            task for tasks in category.groups.values() for task in tasks
        ) == sorted(category.tasks)
        assert set(category.groups.values()) <= set(files.values())
    groups = choose(["mmmg", "mmmg_leaderboard"], TaskIndex()).groups
    assert len(groups) == 1 + 4 + 13
    assert {
        (m.metric, m.weight_by_size) for group in groups.values() for m in group.metrics
    } == {("overall", False)}
    assert [name for name, group in groups.items() if not group.metrics] == ["mmmg"]
    assert {group.layout for group in groups.values()} == {"mmmg"}


def test_each_instruction_is_generated_four_times_and_judges_are_asked_without_chance() -> (
    None
):
    for task in bundled():
        assert (task.name, task.repeats) == (task.name, 4)
        assert {role for metric in task.metrics for role in metric.bound.roles} == set(
            task.roles
        )
        assert {
            (params.temperature, params.top_p) for params in task.roles.values()
        } <= {(0, 1)}


def test_a_missing_answer_or_recording_is_wrong_or_an_empty_text_that_may_keep_to_constraints() -> (
    None
):
    rules = {task.name: task.missing_output for task in bundled()}
    assert rules == {**dict.fromkeys(NAMES, 0), "mmmg_transcript_generation": None}
    assert set(scores_of("empty", shipped("mmmg_audio_text_order"), "part_order")) == {
        0.0
    }
    for profile, values in {
        "standard": [0.0, 0.0, 0.0],
        "official": [0.0, 0.0, 1.0],
    }.items():
        assert (
            scores_of(
                "empty",
                task_of("mmmg_transcript_generation", profile),
                "transcript_constraints",
            )
            == values
        )


def test_without_the_second_judge_six_tasks_are_unavailable() -> None:
    tasks = select(
        ["mmmg"], overrides=TaskOverrides(data="bundled"), roles=frozenset({"judge"})
    )
    lacking = [
        task.name
        for task in tasks
        if any(
            finding.subject.role == "gemini"
            for metric in task.metrics
            for finding in metric.lacks
        )
    ]
    names = (
        "absolute_spatial multilingual_text_rendering object_modifying "
        "self_relative_spatial"
    )
    assert lacking == [
        f"mmmg_{name}"
        for name in [*names.split(), "self_absolute_spatial", "interleaved_math"]
    ]


def test_only_prompt_and_given_pictures_are_sent(tmp_path: Path) -> None:
    task, file = "mmmg_interleaved_object_adding", "i_edit_add"
    images = tmp_path / "seed_instruction" / "image"
    images.mkdir(parents=True)
    row = {
        "instruction": "The seed.",
        "instruction_para": "Draw it.",
        "image_list": [0, 1],
        "ref_image_list": [2, 3, 4, 5],
        "bbox": [1, 2, 30, 40],
        "object": LABEL,
    }
    (images.parent / f"{file}.jsonl").write_text(json.dumps(row))
    for number in range(6):
        (images / f"{file}_{number}.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + bytes([number])
        )
    ((sample, request),) = requests(
        select([task], overrides=TaskOverrides(data_dir=tmp_path)).tasks[0]
    )
    (message,) = request.messages
    assert message.content.parts[0].text == "Draw it."
    assert [medium.read()[-1] for medium in message.content.media()] == [0, 1]
    sent = json.dumps(message.to_json())
    assert "bbox" not in sent
    assert LABEL not in sent
    assert len(sample.references[0].media("image")) == 4


@pytest.mark.parametrize("profile", ["", "official"])
def test_every_bundled_sample_can_be_scored_by_every_metric(profile: str) -> None:
    for task in bundled(profile):
        samples = selected_samples(task)
        checks = [metric.bound for metric in task.metrics if metric.bound.metric.check]
        assert samples, task.name
        assert [
            fault
            for sample in samples
            for bound in checks
            if (fault := bound.sample_fault(sample))
        ] == []


def test_the_kinds_of_a_task_are_those_of_its_samples_and_its_references_are_there() -> (
    None
):
    answers = []
    for task in bundled():
        samples = list(rows_of(task.dataset()))
        given = {
            part.kind
            for sample in samples
            for message in sample.input
            for part in message.content.parts
        }
        parts = [
            part
            for sample in samples
            for reference in sample.references
            for part in reference.parts
        ]
        assert given == set(task.input_modalities)
        assert {
            part.kind for part in parts if part.kind != "text" or part.raw.strip()
        } <= set(task.output_kinds(samples[0]))
        answers += [
            answered_by("reference", task, sample)
            for sample in samples
            if sample.references
        ]
    assert len(answers) > 40
    assert not [
        part
        for answer in answers
        if answer.output
        for part in answer.output.parts
        if part.dangling
    ]


EDITS = (
    "object_adding object_removing object_modifying text_editing "
    "interleaved_object_adding interleaved_color_modifying"
)
SCORED_BY_PROGRAMS = {
    **{
        "edit_outside_ssim": EDITS,
        "region_fill": "region_fill",
        "border_fill": "border_fill",
    },
    **{
        "ssim": "multi_view multi_angle",
        "part_order": "image_text_order audio_text_order",
    },
    "intensity": "music_intensity",
}
"""Tasks by their metric."""


@pytest.mark.parametrize("profile", ["", "official"])
@pytest.mark.parametrize("metric", SCORED_BY_PROGRAMS)
def test_a_right_answer_is_right_by_both_profiles(metric: str, profile: str) -> None:
    for name in SCORED_BY_PROGRAMS[metric].split():
        assert set(
            scores_of("reference", task_of(f"mmmg_{name}", profile), metric)
        ) == {1.0}, name
