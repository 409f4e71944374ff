"""A model that writes the questions of ISG-Bench's bundled rows: the first stages from
the rows, the others by rule."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.media.parts import Interleaved
from mmeval.program.calls import Call, Program
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.tasks import isg
from mmeval.tasks.isg.graph.stages import FORMS
from mmeval.tasks.isg.loader import load
from scripts.bundled.isg import block_questions, image_questions
from tests.support.judging import driven

CAPTION = "A shape on a plain ground."
_MARK = re.compile(r"([0-9a-f]{16}) (?:task|relations|statements) ends?$")


def bundled_samples() -> Iterator[Sample]:
    folder = Path(isg.__file__).parent / "bundled"
    return iter(
        rows_of(load(DataSource("isg_graph", folder, options={"questions": True})))
    )


def stage_of(prompt: str) -> str:
    return next((stage for stage, form in FORMS.items() if form in prompt), "caption")


def written(prompt: str, sample: Sample) -> str:
    """What a model that knows the row replies to a prompt about it."""
    predict = sample.metadata["predict"]
    match stage_of(prompt):
        case "structure":
            return json.dumps(
                {"Thought": "so", **(predict.get("structure") or predict["structural"])}
            )
        case "relations":
            return json.dumps(predict["block_tuple"])
        case "tuples":
            return json.dumps({"tuple": predict["image_tuple"]})
        case "block_questions":
            return json.dumps({"questions": block_questions(_material(prompt))})
        case "image_questions":
            return json.dumps({"questions": image_questions(_material(prompt))})
        case _:
            return CAPTION


def prompt_of(call: Call) -> str:
    """The words of the last message."""
    return call.request.messages[-1].content.text


def mark_of(prompt: str) -> str:
    """What only this prompt has: the word between which its material stands."""
    found = _MARK.search(prompt.rstrip())
    assert found
    return found[1]


def _material(prompt: str) -> Any:
    """The triples of a prompt, which stand before its last line."""
    return json.loads(prompt.rstrip().splitlines()[-2])


def asked_about(
    program: Program[Interleaved], sample: Sample
) -> tuple[Interleaved, list[list[Call]]]:
    """The questions of a row, and the calls of each step. A reply that is not accepted
    fails the test."""

    def say(call: Call) -> Response:
        found = Response(output=Interleaved.from_text(written(prompt_of(call), sample)))
        assert call.accept is None or not call.accept(found), call.accept(found)
        return found

    return driven(program, say)
