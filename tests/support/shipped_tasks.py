"""The tasks that come with the package, built on their bundled samples: MMMG's as its paper
counts them, and the questions of ISG-Bench."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_one
from mmeval.program.calls import Call, Program, Reply, Role
from mmeval.program.protocols import Ask
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.task.selection import select
from mmeval.task.task import Task, TaskOverrides
from mmeval.tasks import isg
from mmeval.tasks.isg.graph.stages import FORMS
from mmeval.tasks.isg.loader import load
from scripts.bundled.isg import block_questions, image_questions
from tests.support.judging import driven

# The tasks that come with the package, built on their bundled samples, and what a
# bound backend scores on them.


def shipped(name: str) -> Task:
    return select([name], overrides=TaskOverrides(data="bundled")).tasks[0]


def selected_samples(task: Task) -> list[Sample]:
    return [sample for sample in rows_of(task.dataset()) if task.selected(sample)]


def answered_by(backend_name: str, task: Task, sample: Sample) -> Trial:
    """The trial of a sample whose one call the backend answers."""
    backend = create_backend(backend_name, {})
    assert isinstance(backend, SampleBackend)
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
    with pytest.raises(StopIteration) as stop:
        program.send(Reply(backend.answer(task.name, sample, 0, call.request)))
    return Trial(sample, output=stop.value.value)


def scores_of(backend_name: str, task: Task, metric: str) -> list[float | None]:
    """One value a sample."""
    bound = next(entry.bound for entry in task.metrics if entry.bound.name == metric)
    trials = [
        answered_by(backend_name, task, sample) for sample in selected_samples(task)
    ]
    return [
        score.value for trial in trials for score in score_one(bound, trial).values()
    ]


# MMMG's 49 tasks as its paper counts them, apart from the task files: names, rows and
# media.


class Counted(NamedTuple):
    """A task with the authors' id of it, its rows, the media that these name, and
    whether models score it."""

    task: str
    id: str
    rows: int
    pictures: int = 0
    sounds: int = 0
    weights: bool = False


TASKS = (
    Counted("mmmg_object_inclusion", "i_object_include", 20),
    Counted("mmmg_object_exclusion", "i_object_exclude", 20),
    Counted("mmmg_object_count", "i_object_count", 20),
    Counted("mmmg_object_reasoning", "i_object_cot", 20),
    Counted("mmmg_object_attribution", "i_object_attribute", 20),
    Counted("mmmg_comparison_relation", "i_relation_two", 20),
    Counted("mmmg_universal_relation", "i_relation_all", 20),
    Counted("mmmg_relative_spatial", "i_spacial_relative", 20),
    Counted("mmmg_absolute_spatial", "i_spacial_absolute", 20),
    Counted("mmmg_region_fill", "i_format_background", 15),
    Counted("mmmg_border_fill", "i_format_border", 15),
    Counted("mmmg_single_text_rendering", "i_ocr", 20),
    Counted("mmmg_double_text_rendering", "i_ocr_two", 20),
    Counted("mmmg_multilingual_text_rendering", "i_ocr_multi_lingual", 20),
    Counted("mmmg_semantic_consistency", "i_consistency_semantic", 20),
    Counted("mmmg_composition", "i_consistency_compose", 20),
    Counted("mmmg_decomposition", "i_consistency_decompose", 20, pictures=20),
    Counted("mmmg_multi_view", "i_consistency_3d_scene", 20, pictures=100),
    Counted("mmmg_multi_angle", "i_consistency_3d_object", 20, pictures=100),
    Counted(
        "mmmg_interleaved_object_adding", "i_edit_add", 20, pictures=60, weights=True
    ),
    Counted(
        "mmmg_interleaved_color_modifying",
        "i_edit_color",
        20,
        pictures=60,
        weights=True,
    ),
    Counted("mmmg_text_editing", "i_edit_text", 25, pictures=25),
    Counted("mmmg_object_adding", "i_edit_object_add", 20, pictures=20),
    Counted("mmmg_object_removing", "i_edit_object_remove", 20, pictures=20),
    Counted("mmmg_object_modifying", "i_edit_object_modify", 20, pictures=20),
    Counted("mmmg_self_count", "it_coherence_count", 20),
    Counted("mmmg_self_color", "it_coherence_color", 20),
    Counted("mmmg_self_size", "it_coherence_size", 20),
    Counted("mmmg_self_relative_spatial", "it_coherence_spacial_relative", 20),
    Counted("mmmg_self_absolute_spatial", "it_coherence_spacial_absolute", 20),
    Counted("mmmg_self_ocr", "it_coherence_ocr", 20),
    Counted("mmmg_interleaved_math", "it_coherence_math", 20, pictures=40),
    Counted(
        "mmmg_interleaved_code", "it_coherence_code", 20, pictures=20, weights=True
    ),
    Counted("mmmg_image_text_order", "i_structure", 20, pictures=2),
    Counted("mmmg_sound_begin_end", "a_sound_begin_end", 20, weights=True),
    Counted("mmmg_sound_positional_inclusion", "a_sound_include", 20, weights=True),
    Counted("mmmg_sound_silence", "a_sound_silence", 20, weights=True),
    Counted("mmmg_sound_reasoning", "a_sound_cot", 18, weights=True),
    Counted("mmmg_instrument_inclusion", "a_music_instrument", 15, weights=True),
    Counted("mmmg_instrument_exclusion", "a_music_exclude", 14, weights=True),
    Counted("mmmg_music_tempo", "a_music_tempo", 15, weights=True),
    Counted("mmmg_music_intensity", "a_music_intensity", 10),
    Counted("mmmg_voice_attribution", "a_speech_attribute", 20, weights=True),
    Counted("mmmg_multilingual_speech", "a_speech_chinese", 20, weights=True),
    Counted("mmmg_voice_replication", "a_speech_imitate", 20, sounds=20, weights=True),
    Counted("mmmg_transcript_editing", "a_speech_modify", 20, sounds=20, weights=True),
    Counted("mmmg_transcript_generation", "a_speech_constraint", 20, weights=True),
    Counted("mmmg_conversation", "a_consistency_conversation", 20, weights=True),
    Counted("mmmg_audio_text_order", "a_structure", 20, sounds=2),
)

SHARED_ROWS = 10
"""Rows that two tasks score: those of the one music file that name an instrument and a
tempo."""

NEED_WEIGHTS = tuple(counted.task for counted in TASKS if counted.weights)
"""Tasks that models of metrics score: without weights on this machine their overall
metric is unavailable."""


# A model that writes the questions of ISG-Bench's bundled rows: the first stages from
# the rows, the others by rule.

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
