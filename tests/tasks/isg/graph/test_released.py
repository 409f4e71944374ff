"""The stages of question generation in the released words, with examples of our own."""

from functools import partial
from pathlib import Path

import pytest

from mmeval.program.calls import MODEL, Call, Role
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Sample
from mmeval.task.build import build
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from mmeval.tasks.isg.graph.released import stage_values
from tests.support.released import use_stand_ins
from tests.support.shipped_tasks import bundled_samples

SAMPLES = {sample.metadata["category"]: sample for sample in bundled_samples()}
TEXTS = {
    "isg.graph.structure": "Blocks, {{X}}:\n{example_2}\n{example_3}\n{input_prompt}",
    "isg.graph.caption.system": "Describe.",
    "isg.graph.caption": "An image.\n",
}
TASK = "<query_text1>: Draw it.\n<query_img1>"
EXAMPLE = {"query": TASK, "structure": '{"Query": []}', "reply": "[]", "triples": ""}


@pytest.fixture(autouse=True)
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))
    use_stand_ins(TEXTS, monkeypatch)


def first_calls(sample: Sample) -> list[Call]:
    file = choose(["isg_graph"], TaskIndex()).tasks["isg_graph"]
    task = build(file, TaskOverrides(prompts="released"))
    ask = Ask(sample, sample.input, ("text",), GenerationParams(), Role(MODEL))
    calls = partial(task.protocol)(ask).send(None)
    return [calls] if isinstance(calls, Call) else list(calls)


def test_a_caption_is_asked_for_with_the_text_before_the_picture() -> None:
    call = first_calls(SAMPLES["Art Style Transfer"])[0]
    system, question = call.request.messages
    assert system.content.text == "Describe."
    assert [part.kind for part in question.content.parts] == ["text", "image"]


def test_the_blocks_are_asked_for_with_two_examples() -> None:
    (call,) = first_calls(SAMPLES["visual storytelling text"])
    (message,) = call.request.messages
    lines = message.content.text.splitlines()
    assert lines[0] == "Blocks, {X}:"
    assert sum(line.startswith("<query_text1>: ") for line in lines) == 3


@pytest.mark.parametrize(
    ("example", "written"),
    [
        (EXAMPLE, f'{TASK}\n{{"Query": []}}\n[]'),
        ({**EXAMPLE, "reply": '{"Query": []}'}, f'{TASK}\n{{"Query": []}}'),
        ({**EXAMPLE, "triples": "[1]"}, "[1]\n[]"),
    ],
    ids=["task with blocks", "first stage", "questions"],
)
def test_an_example_is_written_line_by_line(
    example: dict[str, str], written: str
) -> None:
    values = stage_values([example], requirement="partial", shows_pictures=True)
    assert values == {
        "example_second": written,
        "example_third": "",
        "detailed": "",
        "pictures": "yes",
    }
