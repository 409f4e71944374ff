"""Wanted by the row: questions about pictures whose answer is a label of the row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mmeval.media import Interleaved, media_part
from mmeval.metrics.image.editing import Region, box_fault
from mmeval.metrics.judged.pictures.asking import (
    About,
    BarePrompt,
    ChoicePrompt,
    Inquiry,
    PairPrompt,
    PlacePrompt,
    PresencePrompt,
    Word,
    ask,
    ask_characters,
    ask_presence,
    ask_words,
    presence,
)
from mmeval.metrics.judged.pictures.counts import FEWEST, MOST, Counts, ask_count
from mmeval.metrics.judged.pictures.form import Look, question, text_under
from mmeval.metrics.judged.pictures.places import PlacePrompts, ask_places, places_of
from mmeval.metrics.judged.pictures.readings import (
    Common,
    ask_one_place,
    common_characters,
    compared,
    nothing_read,
    text_fault,
    worth_of,
)
from mmeval.metrics.judged.pictures.shown import each_picture, last_picture, region_of
from mmeval.metrics.judged.pictures.worth import mean, product
from mmeval.metrics.structure.self_description import texts_of
from mmeval.metrics.text.normalisers import han
from mmeval.metrics.text.word_accuracy import accuracy_of
from mmeval.program import Program
from mmeval.records import Sample, Score, Trial
from mmeval.system import OneOrMore

Pictures = Literal["only", "last", "each"]


def _presence_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    object_key, bbox_key = switches["object_key"], switches["bbox_key"]
    descriptions = texts_of(sample.metadata, object_key)
    if not descriptions:
        return f"the row has no descriptions under {object_key!r}"
    if switches["scene"] and len(descriptions) < 2:
        return f"the row has no description but the scene under {object_key!r}"
    if switches["region"] != "bbox":
        return ""
    if switches["pictures"] != "only":
        return (
            "region: bbox is the box of the only picture; it does not go with "
            f"pictures: {switches['pictures']}"
        )
    return box_fault(sample.metadata.get(bbox_key), bbox_key)


def _enough_pictures(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
    """As many pictures as descriptions, where each has its own."""
    answer = trial.output or Interleaved()
    if switches["pictures"] != "each":
        return answer
    wanted = len(texts_of(trial.sample.metadata, switches["object_key"]))
    pictures = [media_part(picture, "image") for picture in answer.media("image")[:1]]
    return Interleaved(tuple(pictures * wanted))


@question(
    source="MMMG, questions whether something is in a picture; official: image "
    "evaluators 6c7142e8, "
    "interleaved evaluators 30c9f602",
    check=_presence_fault,
    supposed=_enough_pictures,
    statements=True,
)
def judge_presence(
    look: Look,
    *,
    object_key: str = "object",
    scene: bool = False,
    wanted: bool = True,
    pictures: Pictures = "only",
    region: Region = "whole",
    bbox_key: str = "bbox",
    margin: OneOrMore = 10,
    prompt: PresencePrompt = "picture_presence",
    scene_prompt: PresencePrompt = "picture_scene",
) -> Program[Score]:
    """The share of the row's descriptions that the judge finds in the picture.
    With ``wanted: false``, of those that it does not find there.

    Range 0 to 1, higher is better. The descriptions are the label ``object_key``, a
    text or a list. With ``scene`` the first of them is what the picture is about as a
    whole: it has its own prompt, must hold whatever ``wanted`` says, and without it the
    trial is 0. ``pictures`` is ``only`` (the answer has exactly one), ``last`` (one at
    least) or ``each`` (one for each description, and all must hold). ``region: bbox``
    shows the judge only the box ``bbox_key`` of the only picture, an edited one,
    widened as ``edit_outside_ssim`` says.

    An answer without the right number of pictures, or with one that is damaged,
    is 0 and no judge is asked. Unscored where the row has no descriptions, and where a
    reply is lost that matters, with bounds; ``lost: wrong`` (profile ``official``)
    counts replies that came and cannot be used as wrong. ``reading: official`` asks for
    a plain reply and looks for the word in its last 20 characters; where yes is not
    wanted that word is "no", and a scene holds unless "no" is there. ``statements:
    official`` looks for the place of the ``last`` picture in the answer's text as the
    release cuts it. ``media_first`` puts the picture before the words of the question,
    ``repeats`` lets the majority decide. Evidence: ``questions``, each with the answer
    and the judge's own words.
    """
    descriptions = texts_of(look.labels, object_key)
    if pictures == "each":
        shown = each_picture(look.trial, len(descriptions))
    else:
        if pictures == "last":
            picture = last_picture(look.trial, look.statements)
        else:
            picture = region_of(look.trial, region, bbox_key=bbox_key, margin=margin)
        shown = [picture] * len(descriptions)
    word: Word = "yes" if wanted else "no"
    inquiries: list[Inquiry] = []
    for description, picture in zip(descriptions, shown, strict=True):
        about = About({"description": description}, picture)
        if scene and not inquiries:
            inquiry = presence(
                look.asking, scene_prompt, about, word=word, reasons=False
            )
        else:
            inquiry = presence(look.asking, prompt, about, word=word)
        inquiries.append(inquiry)
    found = yield from ask(inquiries, repeats=look.asking.repeats)

    items = [finding.is_(word) for finding in found[scene:]]
    value = product(items) if pictures == "each" else mean(items)
    if scene:
        general = found[0].is_("yes")
        if not wanted:
            # Official oddity (6c7142e8): it seeks "no" in the reply about the scene.
            # A reply with neither word passes. A robust answer has one of the words,
            # so that there it makes no difference.
            general = found[0].worth(lambda answer: float(answer != "no"))
        value = product([general, value])
    return value.scored({"questions": [finding.evidence for finding in found]})


def _count_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    counts = Counts(switches["fewest"], switches["most"])
    if fault := counts.fault or text_under("object_key")(sample, switches):
        return fault
    count_key = switches["count_key"]
    count = sample.metadata.get(count_key)
    if type(count) is int and counts.fewest <= count <= counts.most:
        return ""
    between = f"{counts.fewest} to {counts.most}"
    return f"the row's label {count_key!r} must be {between}, not {count!r:.40}"


@question(
    source="MMMG, Object Count; official: image evaluators 6c7142e8", check=_count_fault
)
def judge_count(
    look: Look,
    *,
    object_key: str = "object",
    count_key: str = "count",
    fewest: int = FEWEST,
    most: int = MOST,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge counts as many things as the label ``count_key`` says, else 0.

    Range 0 to 1, higher is better. ``object_key`` is the label that says what is
    counted. The judge chooses among fewer than ``fewest``, each count from there to
    ``most``, and more. The answer must have exactly one picture that can be decoded,
    else it is 0. Unscored without the labels, or where the reply is lost; ``lost:
    wrong`` (profile ``official``) as in ``judge_presence``. ``reading: official`` takes
    the first character of the reply for the letter. ``media_first`` puts the picture
    before the words, ``repeats`` lets the majority decide. Evidence: ``answer``, the
    letter; ``counted``; the judge's own words.
    """
    about = About({"description": look.labels[object_key]}, look.picture)
    counts, wanted = Counts(fewest, most), look.labels[count_key]
    return (yield from ask_count(look.asking, prompt, about, counts, wanted))


def _places_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["constraint_key"]
    try:
        places = places_of(sample.metadata.get(key))
    except ValueError as error:
        return f"the row's label {key!r}: {error}"
    if not places:
        return f"the row has no places under {key!r}"
    return ""


@question(
    source="MMMG, Relative Spatial and Absolute Spatial; official: image evaluators "
    "6c7142e8",
    check=_places_fault,
)
def judge_position(
    look: Look,
    *,
    constraint_key: str = "constraint",
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds all of the row's things where they should be, else 0.

    Range 0 to 1, higher is better. The label ``constraint_key`` is a list of ``[thing,
    place]``, a place being ``bottom left``, ``bottom right``, ``up left`` or ``up
    right``, and of ``[thing, other, side]``, a side being ``left``, ``right``,
    ``above`` or ``below``. For each the judge is asked whether the things are there
    exactly once, and if they are, where.

    The answer must have exactly one picture that can be decoded, else it is 0. Unscored
    without the label, or where a reply is lost that matters; ``lost: wrong`` (profile
    ``official``) as in ``judge_presence``. ``reading: official`` takes the first
    ``Answer: X`` of the reply, written exactly like that. ``media_first`` puts the
    picture before the words, ``repeats`` lets the majority decide. Evidence:
    ``places``, each with what was found and the judge's own words.
    """
    prompts = PlacePrompts(
        prompt, quarter_prompt, left_right_prompt, above_below_prompt
    )
    places = places_of(look.labels[constraint_key])
    return (yield from ask_places(look.asking, prompts, places, look.picture))


@question(
    source="MMMG, text rendering and Text Editing; official: image evaluators 6c7142e8",
    check=text_fault,
)
def judge_ocr(
    look: Look,
    *,
    text_key: str = "text",
    object_key: str = "object",
    region: Region = "whole",
    bbox_key: str = "bbox",
    margin: OneOrMore = 10,
    prompt: PlacePrompt = "picture_words",
    anywhere_prompt: BarePrompt = "picture_words_anywhere",
    scene_prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """Word accuracy of what the judge reads: 1 less its errors for each wanted word.

    Range 0 to 1, higher is better. The label ``text_key`` is the wanted text;
    ``object_key`` says what it stands on, and where the row has no such label the whole
    picture is read, digits too. ``text_key`` may also be a mapping from places to
    texts: then ``object_key`` describes the scene, the judge is asked whether the
    picture shows it, and reads each place if it does; if not, nothing counts as read.
    The errors of all places are summed up. Case, accents and punctuation do not count
    (``word_accuracy`` with ``normalise: ocr``); where no text is wanted, none read is
    right. ``region: bbox`` shows the judge only the box ``bbox_key`` of an edited
    picture, widened as ``edit_outside_ssim`` says.

    The answer must have exactly one picture that can be decoded, else it is 0. Unscored
    without the labels, or where a reply is lost; ``lost: wrong`` (profile ``official``)
    makes of replies that came and cannot be used 0, or an empty reading beside another
    one. ``reading: official`` takes a strict JSON list from the reply, and anything
    else for an empty one. ``media_first`` puts the picture before the words,
    ``repeats`` lets the majority decide. Evidence: ``readings``, each with the judge's
    own words; the errors, and both sides as they were compared.
    """
    picture = region_of(look.trial, region, bbox_key=bbox_key, margin=margin)
    text, thing = look.labels[text_key], look.labels.get(object_key)
    if not isinstance(text, Mapping):
        words = prompt if thing else anywhere_prompt
        thing = thing or None
        return (yield from ask_one_place(look.asking, words, thing, text, picture))
    about = About({"description": thing}, picture)
    (scene,) = yield from ask_presence(look.asking, scene_prompt, [about])
    if scene.answer != "yes":
        return nothing_read(scene, text)
    places = [About({"place": place}, picture) for place in text]
    found = yield from ask_words(look.asking, prompt, places)
    return compared(found, list(text.values()), scene=scene.evidence)


def _one_text_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    text_key = switches["text_key"]
    if isinstance(sample.metadata.get(text_key), Mapping):
        return f"the row has several texts under {text_key!r}; one is read here"
    return text_fault(sample, switches)


@question(
    source="MMMG, Multi-Lingual Text Rendering; official: image evaluators 6c7142e8",
    check=_one_text_fault,
    second_judge=True,
    official={"common": "set"},
)
def judge_ocr_multilingual(
    look: Look,
    *,
    text_key: str = "text",
    object_key: str = "object",
    common: Common = "text",
    prompt: PlacePrompt = "picture_words",
    anywhere_prompt: BarePrompt = "picture_words_anywhere",
    chinese_prompt: BarePrompt = "picture_characters",
) -> Program[Score]:
    """How much of a Chinese text in the picture two judges read; one reads other text.

    Range 0 to 1, higher is better. Where the label ``text_key`` holds Chinese
    characters both judges read the picture, and what both have read, in the order of
    the first, is compared with it character by character: 1 less the errors for each
    wanted one. Any other text is read by the first judge alone, as ``judge_ocr`` says.

    ``common`` is ``text``: all characters of the first reading that are in the second,
    too; or ``set`` (profile ``official``): each of them once, as the released script
    compares sets. That script joins its set in an order that differs from process to
    process, so its value for more than one character cannot be repeated; ours has the
    order of the first judge in both profiles. The answer must have exactly one picture
    that can be decoded, else it is 0. Unscored and ``lost``, ``reading``, ``repeats``
    as in ``judge_ocr``; ``media_first`` and ``second_media_first`` put the picture
    before the words for each judge. Evidence: ``readings``, the errors, and both sides
    as they were compared.
    """
    text, thing = look.labels[text_key], look.labels.get(object_key) or None
    picture = look.picture
    if not han(text):
        words = prompt if thing else anywhere_prompt
        return (yield from ask_one_place(look.asking, words, thing, text, picture))
    askings = [look.asking, *look.second]
    found = yield from ask_characters(askings, chinese_prompt, picture)
    first, second = [han(finding.answer) for finding in found]
    read = common_characters(first, second, common)
    pairs = accuracy_of(
        [(read, text)], normalise="none", unit="character", blanks="keep"
    )
    readings = [finding.evidence for finding in found]
    return worth_of(found, pairs).scored({"readings": readings, **pairs.evidence})
