"""Readings: text that a judge reads in a picture, compared with the wanted text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.media import Media
from mmeval.metrics.image.editing import box_fault
from mmeval.metrics.judged.pictures.asking import About, Asking, Finding, ask_words
from mmeval.metrics.judged.pictures.worth import Worth, unknown, worth
from mmeval.metrics.text.word_accuracy import Accuracy, accuracy_of
from mmeval.program import Program, Written
from mmeval.records import Sample, Score

Common = Literal["text", "set"]
"""The common characters of two readings: as a text, or as a set."""


def text_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Why a row has no text to compare with; empty when it has."""
    text_key, object_key = switches["text_key"], switches["object_key"]
    text, thing = sample.metadata.get(text_key), sample.metadata.get(object_key)
    texts = list(text.values()) if isinstance(text, Mapping) else [text]
    if not texts or not all(isinstance(one, str) for one in texts):
        return f"the row has no text, nor a text for each place, under {text_key!r}"
    needs_thing = thing is not None or isinstance(text, Mapping)
    if needs_thing and not isinstance(thing, str):
        return f"the row has no text under {object_key!r}"
    if switches.get("region") == "bbox":
        bbox_key = switches["bbox_key"]
        return box_fault(sample.metadata.get(bbox_key), bbox_key)
    return ""


def ask_one_place(
    asking: Asking,
    prompt: Written,
    place: str | None,
    text: str,
    picture: Media,
    **evidence: Any,
) -> Program[Score]:
    """The word accuracy of the text read on one thing, or anywhere in the picture."""
    values = {} if place is None else {"place": place}
    found = yield from ask_words(asking, prompt, [About(values, picture)])
    return compared(found, [text], **evidence)


def nothing_read(scene: Finding, text: Mapping[str, str]) -> Score:
    """The score where the picture shows another scene: each place counts as empty."""
    pairs = accuracy_of([("", wanted) for wanted in text.values()])
    value = worth(pairs.value or 0.0)
    if scene.open:
        value = unknown(scene.missing, scene.verdict.cause)
    return value.scored({"scene": scene.evidence, "readings": [], **pairs.evidence})


def compared(found: Sequence[Finding], wanted: Sequence[str], **evidence: Any) -> Score:
    """The word accuracy of the texts read in some places."""
    answers = [finding.answer for finding in found]
    pairs = accuracy_of(zip(answers, wanted, strict=True))
    readings = [finding.evidence for finding in found]
    noted = {**evidence, "readings": readings, **pairs.evidence}
    return worth_of(found, pairs).scored(noted)


def worth_of(found: Sequence[Finding], pairs: Accuracy) -> Worth:
    """The readings' value: unknown if any is lost, or 0 if all are and count as
    wrong."""
    for finding in found:
        if finding.open:
            return unknown(finding.missing, finding.verdict.cause)
    if all(finding.missing for finding in found):
        return worth(0.0)
    return worth(pairs.value or 0.0)


def common_characters(
    first: str,
    second: str,
    common: Common = "text",
) -> str:
    """The first reading's characters also in the second, in order; ``set``: once
    each."""
    seen = set(second)
    both = [letter for letter in first if letter in seen]
    if common == "set":
        return "".join(dict.fromkeys(both))
    return "".join(both)
