"""Presence: does the picture show what it should, or lack what it should lack?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mmeval.content import Interleaved, Media, media_part
from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.editing import Margin, Region, box_fault
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    About,
    Asking,
    Finding,
    Inquiry,
    Lost,
    PresencePrompt,
    Word,
    ask,
    presence,
)
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS
from mmeval.metrics.judged.pictures.looked_at import each_picture, last_picture, region_of
from mmeval.metrics.judged.pictures.worth import Worth, mean, product
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.structure.self_description import Statements, texts_of
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

Pictures = Literal["only", "last", "each"]


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    descriptions = texts_of(sample.metadata, switches["object_key"])
    if not descriptions:
        return f"the row has no descriptions under {switches['object_key']!r}"
    if switches["scene"] and len(descriptions) < 2:
        return f"the row has no description but the scene under {switches['object_key']!r}"
    if switches["region"] == "bbox" and switches["pictures"] != "only":
        return f"region: bbox is the box of the only picture; it does not go with pictures: {switches['pictures']}"
    if switches["region"] == "bbox":
        return box_fault(sample.metadata.get(switches["bbox_key"]), switches["bbox_key"])
    return ""


def _enough_pictures(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
    """The answer's picture for each description, where each has its own."""
    answer = trial.output or Interleaved()
    if switches["pictures"] != "each":
        return answer
    wanted = len(texts_of(trial.sample.metadata, switches["object_key"]))
    return Interleaved(tuple(media_part(picture, "image") for picture in answer.media("image")[:1] * wanted))


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, questions whether something is in a picture; official: image evaluators 6c7142e8, "
    "interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=_enough_pictures,
)
def judge_presence(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    scene: bool = False,
    wanted: bool = True,
    pictures: Pictures = "only",
    region: Region = "whole",
    bbox_key: str = "bbox",
    margin: Margin = 10,
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PresencePrompt = "picture_presence",
    scene_prompt: PresencePrompt = "picture_scene",
) -> Program[Score]:
    """The share of the row's descriptions that the judge finds in the picture; with ``wanted: false``, of those that it
    does not find there.

    Range 0 to 1, higher is better. The descriptions are the label ``object_key``, a text or a list. With ``scene`` the
    first of them is what the picture is about as a whole: it is asked for in other words, has to hold whatever
    ``wanted`` says, and without it the trial is 0. ``pictures`` is ``only`` (the answer has exactly one), ``last`` (one
    at least) or ``each`` (one for each description, and all must hold). ``region: bbox`` shows the judge only the box
    ``bbox_key`` of the only picture, an edited one, widened as ``edit_outside_ssim`` says.

    An answer without the right number of pictures, or with one that cannot be decoded, is 0 and nobody is asked.
    Unscored where the row has no descriptions, and where a reply is lost that matters, with bounds; ``lost: wrong``
    (profile ``official``) counts replies that came and cannot be used as wrong. ``reading: official`` asks for a plain
    reply and looks for the word in its last 20 characters; where yes is not wanted that word is "no", and a scene holds
    unless "no" is there.
    ``statements: official`` looks for the place of the ``last`` picture in the answer's text as the release cuts it.
    ``media_first`` puts the picture before the words of the question, ``repeats`` lets the majority decide. Evidence:
    ``questions``, each with the answer and the judge's own words.
    """
    switches = {"object_key": object_key, "scene": scene, "region": region, "bbox_key": bbox_key}
    if fault := _fault(trial.sample, {**switches, "pictures": pictures}):
        return Score.unscored(fault)
    descriptions = texts_of(trial.sample.metadata, object_key)
    if pictures == "each":
        shown = each_picture(trial, len(descriptions))
    elif pictures == "last":
        shown = _of_all(last_picture(trial, statements), descriptions)
    else:
        shown = _of_all(region_of(trial, region, bbox_key=bbox_key, margin=margin), descriptions)
    if isinstance(shown, Score):
        return shown
    asking = Asking(judge, reading, lost, media_first, repeats)
    word: Word = "yes" if wanted else "no"
    inquiries: list[Inquiry] = []
    for number, (description, picture) in enumerate(zip(descriptions, shown, strict=True)):
        about, general = About({"description": description}, picture), scene and not number
        words = scene_prompt if general else prompt
        inquiries.append(presence(asking, words, about, word=word, reasons=not general))
    found = yield from ask(inquiries, repeats=repeats)
    value = _value(found, word, scene=scene, all_of_them=pictures == "each")
    return value.scored({"questions": [one.evidence for one in found]})


def _of_all(found: Media | Score, descriptions: list[str]) -> list[Media] | Score:
    """One picture for all descriptions, or the score of a trial without."""
    return found if isinstance(found, Score) else [found] * len(descriptions)


def _value(found: list[Finding], word: Word, *, scene: bool, all_of_them: bool) -> Worth:
    items = [one.is_(word) for one in found[scene:]]
    together = product(items) if all_of_them else mean(items)
    return product([_scene(found[0], word), together]) if scene else together


def _scene(found: Finding, word: Word) -> Worth:
    """Official oddity (6c7142e8): beside what is not wanted the scene's reply is searched for "no", and a reply with
    neither word passes. A robust answer is one of both, so that there it is the same."""
    return found.is_("yes") if word == "yes" else found.worth(lambda answer: float(answer != "no"))
