from functools import cache

import pytest

from mmeval.errors import TaskFileError
from mmeval.media import Interleaved, Media, media_part, text_part
from mmeval.records import Sample, user
from mmeval.task.selection import select
from mmeval.task.task import Selection
from mmeval.tasks.isg.prompt import prompt
from tests.support.tiny_media import picture

GOLDEN = Interleaved(
    (
        text_part("A hare."),
        media_part(Media.from_bytes(picture())),
        text_part("It runs."),
    )
)
SAMPLE = Sample(
    "s", (user("Tell of a hare.", Media.from_bytes(picture())),), (GOLDEN,), {}
)


def test_the_structure_of_the_golden_answer_is_stated_where_that_is_asked_for() -> None:
    assert prompt(SAMPLE) == SAMPLE.input
    (told,) = prompt(SAMPLE, structure="golden")
    assert told.content.parts[:2] == SAMPLE.input[0].content.parts
    assert told.content.text.endswith(": <gen_text1> <gen_img1> <gen_text2>")
    assert "hare." not in told.content.parts[-1].raw


@cache
def selected(name: str) -> Selection:
    return select([name])


def test_a_task_with_it_uses_reference_information() -> None:
    told, plain = (selected(name).tasks for name in ("isg_golden_structure", "isg"))
    assert [{task.uses_reference for task in tasks} for tasks in (told, plain)] == [
        {True},
        {False},
    ]
    assert [task.name for task in told] == [task.name for task in plain]


def test_it_is_averaged_as_the_benchmark_is() -> None:
    told, plain = (selected(name).groups for name in ("isg_golden_structure", "isg"))
    assert [(group.members, group.metrics, group.layout) for group in told] == [
        (group.members, group.metrics, group.layout) for group in plain
    ]
    assert {*told[1:]} == {*plain[1:]}


def test_another_structure_is_refused() -> None:
    with pytest.raises(TaskFileError, match="golden"):
        select(
            [{"task": "isg_howto", "prompt": {"function": "isg", "structure": "goldn"}}]
        )
