import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from mmeval.media.parts import Interleaved, text_part
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.program.calls import MODEL, Call, Program, Role
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Message, Sample
from mmeval.records.trial import Trial
from mmeval.task.build import build
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from tests.support.shipped_tasks import (
    CAPTION,
    asked_about,
    bundled_samples,
    prompt_of,
    stage_of,
)

TASK = build(choose(["isg_graph"], TaskIndex()).tasks["isg_graph"])
SAMPLES = {sample.metadata["category"]: sample for sample in bundled_samples()}


def program(sample: Sample, **options: Any) -> Program[Interleaved]:
    ask = Ask(sample, sample.input, ("text",), GenerationParams(), Role(MODEL))
    return partial(TASK.protocol, **options)(ask)


def waves(sample: Sample, **options: Any) -> list[list[Call]]:
    return asked_about(program(sample, **options), sample)[1]


def asked(sample: Sample, **options: Any) -> list[Call]:
    return [call for wave in waves(sample, **options) for call in wave]


def stages(sample: Sample, **options: Any) -> list[list[str]]:
    return [
        [stage_of(prompt_of(call)) for call in wave]
        for wave in waves(sample, **options)
    ]


@pytest.mark.parametrize("subtask", SAMPLES)
def test_the_written_questions_are_those_of_the_row(subtask: str) -> None:
    sample = SAMPLES[subtask]
    answer, _ = asked_about(program(sample), sample)
    scores = score_one(bind(load_metric("isg_graph")), Trial(sample, output=answer))
    assert {score.value for score in scores.values()} <= {1, None}
    assert scores["isg_graph_block"].value == 1


def test_what_does_not_depend_on_each_other_is_asked_at_once() -> None:
    lamp = SAMPLES["Art Style Transfer"]
    last = [
        ["structure"],
        ["relations", "tuples"],
        ["block_questions", "image_questions"],
    ]
    assert stages(lamp) == [["caption"], *last]
    assert stages(lamp, block_pictures=True) == last
    assert stages(SAMPLES["visual storytelling text"]) == last
    # Nothing is required of its pictures, and of those of a picture story there are
    # three to describe.
    assert stages(SAMPLES["Scientific"]) == [
        ["caption"],
        ["structure"],
        ["relations"],
        ["block_questions"],
    ]
    assert stages(SAMPLES["visual storytelling image"])[0] == ["caption"] * 3


def test_the_stages_about_pictures_see_those_of_the_task_and_the_others_read_captions() -> (
    None
):
    sample = SAMPLES["Art Style Transfer"]
    for options, seen in (({}, {"tuples"}), ({"image_pictures": False}, set[str]())):
        contents = [
            call.request.messages[-1].content for call in asked(sample, **options)
        ]
        with_pictures = {stage_of(one.text) for one in contents if one.media()}
        told = {stage_of(one.text) for one in contents if CAPTION in one.text}
        assert (with_pictures - {"caption"}, told) == (
            seen,
            {"structure", "relations", "tuples"} - seen,
        )


def test_the_examples_are_other_rows_of_the_category() -> None:
    sample = SAMPLES["Object_VQA"]
    first = prompt_of(waves(sample)[1][0])
    assert (
        first.count("example begins"),
        "Which building is this" in first,
        first.count("What is this?"),
    ) == (
        1,
        True,
        1,
    )
    assert [
        first.count("example begins")
        for first in map(prompt_of, asked(SAMPLES["HowTo"], examples=0))
    ] == [0] * 6
    assert prompt_of(waves(SAMPLES["painting"])[1][0]).count("example begins") == 1
    assert (
        prompt_of(waves(SAMPLES["Photo Variation"])[1][0]).count("example begins") == 2
    )


def test_a_system_instruction_leads_every_stage() -> None:
    sample = SAMPLES["visual storytelling text"]
    led = (Message("system", Interleaved((text_part("Be brief."),))), *sample.input)
    call = next(
        TASK.protocol(Ask(sample, led, ("text",), GenerationParams(), Role(MODEL)))
    )
    assert isinstance(call, Call)
    assert [message.role for message in call.request.messages] == ["system", "user"]


def test_a_picture_that_nothing_is_said_of_has_no_questions() -> None:
    sample = SAMPLES["visual storytelling text"]
    predict = {
        **sample.metadata["predict"],
        "image_tuple": [],
        "block_tuple": {"relation": []},
    }
    bare = replace(sample, metadata={**sample.metadata, "predict": predict})
    answer, calls = asked_about(program(bare), bare)
    assert [len(wave) for wave in calls] == [1, 2]
    assert [json.loads(answer.text)[key] for key in ("block_qa", "image_qa")] == [
        {"questions": []}
    ] * 2
