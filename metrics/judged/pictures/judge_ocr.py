"""Text on pictures: a judge reads it, and its words are compared with the wanted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.content import Media
from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.editing import Margin, Region, box_fault
from mmeval.metrics.image.pictures import NEEDS as PICTURE_NEEDS
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    About,
    Asking,
    BarePrompt,
    Finding,
    Lost,
    PlacePrompt,
    PresencePrompt,
    Written,
    ask_presence,
    ask_words,
)
from mmeval.metrics.judged.pictures.looked_at import region_of
from mmeval.metrics.judged.pictures.worth import Worth, unknown, worth
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.text.word_accuracy import NEEDS as TEXT_NEEDS
from mmeval.metrics.text.word_accuracy import Accuracy, accuracy_of
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

NEEDS = (*PICTURE_NEEDS, *TEXT_NEEDS)
"""What a metric that has pictures read imports."""


def text_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Why nothing that is read in a picture could be compared with what a row wants; empty when it could."""
    text, thing = sample.metadata.get(switches["text_key"]), sample.metadata.get(switches["object_key"])
    texts = list(text.values()) if isinstance(text, Mapping) else [text]
    if not texts or not all(isinstance(one, str) for one in texts):
        return f"the row has no text, nor a text for each place, under {switches['text_key']!r}"
    if not isinstance(thing, str) and (thing is not None or isinstance(text, Mapping)):
        return f"the row has no text under {switches['object_key']!r}"
    if switches.get("region") == "bbox":
        return box_fault(sample.metadata.get(switches["bbox_key"]), switches["bbox_key"])
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, text rendering and Text Editing; official: image evaluators 6c7142e8",
    needs=NEEDS,
    profiles={"official": PLAIN_REPLIES},
    check=text_fault,
)
def judge_ocr(
    trial: Trial,
    judge: Role,
    *,
    text_key: str = "text",
    object_key: str = "object",
    region: Region = "whole",
    bbox_key: str = "bbox",
    margin: Margin = 10,
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PlacePrompt = "picture_words",
    anywhere_prompt: BarePrompt = "picture_words_anywhere",
    scene_prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """The word accuracy of what the judge reads in the picture: 1 less its errors for each word of the wanted text.

    Range 0 to 1, higher is better. The label ``text_key`` is the wanted text; ``object_key`` says what it stands on,
    and where the row has no such label the whole picture is read, digits too. ``text_key`` may also be a mapping from
    places to texts: then ``object_key`` describes the scene, the judge is asked whether the picture shows it, and reads
    each place if it does; if not, nothing counts as read. The errors of all places are summed up. Case, accents and
    punctuation do not count (``word_accuracy`` with ``normalise: ocr``); where no text is wanted, none read is right.
    ``region: bbox`` shows the judge only the box ``bbox_key`` of an edited picture, widened as ``edit_outside_ssim``
    says.

    The answer must have exactly one picture that can be decoded, else it is 0. Unscored without the labels, or where a
    reply is lost; ``lost: wrong`` (profile ``official``) makes of replies that came and cannot be used 0, or an empty
    reading beside another one.
    ``reading: official`` takes a strict JSON list from the reply, and anything else for an empty one. ``media_first``
    puts the picture before the words, ``repeats`` lets the majority decide. Evidence: ``readings``, each with the
    judge's own words; the errors, and both sides as they were compared.
    """
    switches = {"text_key": text_key, "object_key": object_key, "region": region, "bbox_key": bbox_key}
    if fault := text_fault(trial.sample, switches):
        return Score.unscored(fault)
    picture = region_of(trial, region, bbox_key=bbox_key, margin=margin)
    if isinstance(picture, Score):
        return picture
    asking = Asking(judge, reading, lost, media_first, repeats)
    text, thing = trial.sample.metadata[text_key], trial.sample.metadata.get(object_key)
    if not isinstance(text, Mapping):
        return (yield from ask_one_place(asking, prompt if thing else anywhere_prompt, thing, text, picture))
    (scene,) = yield from ask_presence(asking, scene_prompt, [About({"description": thing}, picture)])
    if scene.answer != "yes":
        return _nothing_read(scene, text)
    about = [About({"place": place}, picture) for place in text]
    found = yield from ask_words(asking, prompt, about)
    return compared(found, list(text.values()), {"scene": scene.evidence})


def ask_one_place(asking: Asking, prompt: Written, place: str | None, text: str, picture: Media) -> Program[Score]:
    """The word accuracy of what is read on one thing, or anywhere in the picture."""
    found = yield from ask_words(asking, prompt, [About({"place": place} if place else {}, picture)])
    return compared(found, [text])


def _nothing_read(scene: Finding, text: Mapping[str, str]) -> Score:
    """Where the picture is not what was asked for, each place counts as empty."""
    pairs = accuracy_of([("", wanted) for wanted in text.values()])
    value = unknown(scene.missing, scene.verdict.cause) if scene.open else worth(pairs.value or 0.0)
    return value.scored({"scene": scene.evidence, "readings": [], **pairs.evidence})


def compared(found: Sequence[Finding], wanted: Sequence[str], before: Mapping[str, Any] | None = None) -> Score:
    """The word accuracy of what was read in some places."""
    pairs = accuracy_of(zip((one.answer for one in found), wanted, strict=True))
    evidence = {**(before or {}), "readings": [one.evidence for one in found], **pairs.evidence}
    return worth_of(found, pairs).scored(evidence)


def worth_of(found: Sequence[Finding], pairs: Accuracy) -> Worth:
    """What readings are worth: nothing where all are lost and that is wrong, unknown where one is lost otherwise."""
    lacking = next((one for one in found if one.open), None)
    if lacking is not None:
        return unknown(lacking.missing, lacking.verdict.cause)
    return worth(0.0 if all(one.missing for one in found) else pairs.value or 0.0)
