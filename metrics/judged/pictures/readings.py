"""Readings: text that a judge reads in a picture, compared with the expected text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.media import Media
from mmeval.metrics.image.editing import box_fault
from mmeval.metrics.judged.pictures.asking import (
    JudgeAnswer,
    PictureJudge,
    QuestionSubject,
    ask_words,
)
from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    unknown_value,
)
from mmeval.metrics.text.word_accuracy import Accuracy, accuracy_of
from mmeval.program import Program, PromptValue
from mmeval.records import Sample, Score

Common = Literal["text", "set"]
"""How the characters that two readings share are compared: as a text, or as a set."""


def text_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns why a row contains no text to compare with; empty if it contains one."""
    text_key, object_key = switches["text_key"], switches["object_key"]
    text, thing = sample.metadata.get(text_key), sample.metadata.get(object_key)
    texts = list(text.values()) if isinstance(text, Mapping) else [text]
    if not texts or not all(isinstance(item, str) for item in texts):
        return f"the row has no text, nor a text for each place, under {text_key!r}"
    needs_thing = thing is not None or isinstance(text, Mapping)
    if needs_thing and not isinstance(thing, str):
        return f"the row has no text under {object_key!r}"
    if switches.get("region") == "bbox":
        bbox_key = switches["bbox_key"]
        return box_fault(sample.metadata.get(bbox_key), bbox_key)
    return ""


def ask_one_place(
    judge: PictureJudge,
    prompt: PromptValue,
    place: str | None,
    text: str,
    picture: Media,
    **evidence: Any,
) -> Program[Score]:
    """Returns the word accuracy of the text on one object.

    ``place`` is the object. If ``place`` is None, the whole picture is read.
    """
    values = {} if place is None else {"place": place}
    answers = yield from ask_words(judge, prompt, [QuestionSubject(values, picture)])
    return compared(answers, [text], **evidence)


def nothing_read(scene: JudgeAnswer, text: Mapping[str, str]) -> Score:
    """Returns the score if the picture shows another scene.

    The text of each place then counts as empty.
    """
    accuracy = accuracy_of([("", expected) for expected in text.values()])
    value = known_value(accuracy.value or 0.0)
    if scene.is_unknown:
        value = unknown_value(scene.missing, scene.verdict.cause)
    return value.scored({"scene": scene.evidence, "readings": [], **accuracy.evidence})


def compared(
    answers: Sequence[JudgeAnswer], expected: Sequence[str], **evidence: Any
) -> Score:
    """Returns the word accuracy of the texts read in several places."""
    texts = [answer.answer for answer in answers]
    accuracy = accuracy_of(zip(texts, expected, strict=True))
    readings = [answer.evidence for answer in answers]
    evidence = {**evidence, "readings": readings, **accuracy.evidence}
    return value_of(answers, accuracy).scored(evidence)


def value_of(answers: Sequence[JudgeAnswer], accuracy: Accuracy) -> BoundedValue:
    """Returns the accuracy, or an unknown value if an answer is lost.

    The value is 0 if every answer is missing and counts as wrong.
    """
    for answer in answers:
        if answer.is_unknown:
            return unknown_value(answer.missing, answer.verdict.cause)
    if all(answer.missing for answer in answers):
        return known_value(0.0)
    return known_value(accuracy.value or 0.0)


def common_characters(
    first: str,
    second: str,
    common: Common = "text",
) -> str:
    """Returns the characters of the first reading that also occur in the second.

    The characters keep their order. With ``common="set"`` each character is kept once.
    """
    others = set(second)
    shared = [letter for letter in first if letter in others]
    if common == "set":
        return "".join(dict.fromkeys(shared))
    return "".join(shared)
