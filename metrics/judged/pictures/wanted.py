"""Questions about pictures with the expected answer in a label of the row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mmeval.media import Interleaved, media_part
from mmeval.metrics.image.editing import Region, box_fault
from mmeval.metrics.judged.pictures.asking import (
    BarePrompt,
    ChoicePrompt,
    PairPrompt,
    PlacePrompt,
    PreparedQuestion,
    PresencePrompt,
    QuestionSubject,
    Word,
    ask,
    ask_characters,
    ask_presence,
    ask_words,
    presence,
)
from mmeval.metrics.judged.pictures.bounded_value import mean, product
from mmeval.metrics.judged.pictures.counts import FEWEST, MOST, CountOptions, ask_count
from mmeval.metrics.judged.pictures.form import PictureCase, question, text_under
from mmeval.metrics.judged.pictures.places import PlacePrompts, ask_places, places_of
from mmeval.metrics.judged.pictures.readings import (
    Common,
    ask_one_place,
    common_characters,
    compared,
    nothing_read,
    text_fault,
    value_of,
)
from mmeval.metrics.judged.pictures.selection import (
    each_picture,
    last_picture,
    region_of,
)
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
        return f"the row has no description besides the scene under {object_key!r}"
    if switches["region"] != "bbox":
        return ""
    if switches["pictures"] != "only":
        return (
            "region: bbox needs pictures: only; it cannot be used with "
            f"pictures: {switches['pictures']}"
        )
    return box_fault(sample.metadata.get(bbox_key), bbox_key)


def _enough_pictures(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
    """Returns a supposed answer.

    With ``pictures: each`` the supposed answer contains one picture per description.
    """
    answer = trial.output or Interleaved()
    if switches["pictures"] != "each":
        return answer
    count = len(texts_of(trial.sample.metadata, switches["object_key"]))
    pictures = [media_part(picture, "image") for picture in answer.media("image")[:1]]
    return Interleaved(tuple(pictures * count))


@question(
    source="MMMG, questions about the presence of objects; official: image evaluators "
    "6c7142e8, interleaved evaluators 30c9f602",
    check=_presence_fault,
    supposed=_enough_pictures,
    statements=True,
)
def judge_presence(
    case: PictureCase,
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

    With ``wanted: false`` it is the share of the descriptions that the judge does not
    find.

    Range 0 to 1, higher is better. The label ``object_key`` contains the descriptions:
    a text or a list of texts. With ``scene`` the first description describes the
    picture as a whole. This description uses a separate prompt and must always be true
    (also with ``wanted: false``), or the trial scores 0. ``pictures`` selects the
    pictures that the judge sees. ``only``: the answer must have exactly one picture.
    ``last``: the last of one or more pictures. ``each``: one picture per description,
    and all descriptions must be true. ``region: bbox`` shows the judge only the box
    ``bbox_key`` of the only picture, which is an edited picture. The box is widened by
    ``margin`` as in ``edit_outside_ssim``.

    The score is 0 without a judge call if the number of pictures is wrong or a picture
    is damaged. The trial is unscored if the row contains no descriptions, and unscored
    with bounds if a reply that matters is lost. ``lost: wrong`` (profile ``official``)
    counts unusable replies as wrong. ``reading: official`` asks for a plain reply and
    searches its last 20 characters for "yes". With ``wanted: false`` it searches them
    for "no", and the description of the scene is true unless "no" is found.
    ``statements: official`` searches the position of the ``last`` picture in the
    answer's text like the released script. ``media_first`` puts the picture before the
    words of the question. With ``repeats`` the majority decides. Evidence:
    ``questions``, each with the judge's answer and words.

    Labels, for example: ``{"object": ["a white sheet", "exactly one red disc"]}``.
    """
    descriptions = texts_of(case.labels, object_key)
    if pictures == "each":
        selected = each_picture(case.trial, len(descriptions))
    else:
        if pictures == "last":
            picture = last_picture(case.trial, case.statements)
        else:
            picture = region_of(case.trial, region, bbox_key=bbox_key, margin=margin)
        selected = [picture] * len(descriptions)
    word: Word = "yes" if wanted else "no"
    questions: list[PreparedQuestion] = []
    for description, picture in zip(descriptions, selected, strict=True):
        subject = QuestionSubject({"description": description}, picture)
        if scene and not questions:
            prepared = presence(
                case.judge, scene_prompt, subject, word=word, reasons=False
            )
        else:
            prepared = presence(case.judge, prompt, subject, word=word)
        questions.append(prepared)
    answers = yield from ask(questions, repeats=case.judge.repeats)

    items = [answer.matches(word) for answer in answers[scene:]]
    value = product(items) if pictures == "each" else mean(items)
    if scene:
        scene_value = answers[0].matches("yes")
        if not wanted:
            # Official oddity (6c7142e8): the script searches the reply about the scene
            # for "no". A reply without "yes" and "no" passes. A robust answer is always
            # one of the two words, so it is not affected.
            scene_value = answers[0].value(lambda answer: float(answer != "no"))
        value = product([scene_value, value])
    return value.scored({"questions": [answer.evidence for answer in answers]})


def _count_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    counts = CountOptions(switches["fewest"], switches["most"])
    if fault := counts.fault or text_under("object_key")(sample, switches):
        return fault
    count_key = switches["count_key"]
    count = sample.metadata.get(count_key)
    if type(count) is int and counts.fewest <= count <= counts.most:
        return ""
    range = f"{counts.fewest} to {counts.most}"
    return f"the row's label {count_key!r} must be {range}, not {count!r:.40}"


@question(
    source="MMMG, Object Count; official: image evaluators 6c7142e8", check=_count_fault
)
def judge_count(
    case: PictureCase,
    *,
    object_key: str = "object",
    count_key: str = "count",
    fewest: int = FEWEST,
    most: int = MOST,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge's count of objects equals the label ``count_key``, else 0.

    Range 0 to 1, higher is better. The label ``object_key`` describes the objects. The
    judge chooses between fewer than ``fewest``, each count from ``fewest`` to ``most``,
    and more than ``most``.

    The score is 0 unless the answer has exactly one picture that can be decoded. It is
    unscored without the labels, or if the reply is lost. ``lost: wrong`` (profile
    ``official``) is as in ``judge_presence``. ``reading: official`` reads the first
    character of the reply as the letter. ``media_first`` puts the picture before the
    words. With ``repeats`` the majority decides. Evidence: ``answer`` (the letter),
    ``counted``, and the judge's words.

    Labels, for example: ``{"object": "blue squares", "count": 4}``.
    """
    subject = QuestionSubject({"description": case.labels[object_key]}, case.picture)
    counts, expected = CountOptions(fewest, most), case.labels[count_key]
    return (yield from ask_count(case.judge, prompt, subject, counts, expected))


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
    case: PictureCase,
    *,
    constraint_key: str = "constraint",
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds all the row's objects where they should be, else 0.

    Range 0 to 1, higher is better. The label ``constraint_key`` is a list. An item is
    ``[thing, place]`` with the place ``bottom left``, ``bottom right``, ``up left`` or
    ``up right``, or ``[thing, other, side]`` with the side ``left``, ``right``,
    ``above`` or ``below``. For each item the judge is asked if the objects occur
    exactly once, and if so, where they are.

    The score is 0 unless the answer has exactly one picture that can be decoded. It is
    unscored without the label, or if a reply that matters is lost. ``lost: wrong``
    (profile ``official``) is as in ``judge_presence``. ``reading: official`` reads the
    first ``Answer: X`` in the reply, in exactly this spelling. ``media_first`` puts the
    picture before the words. With ``repeats`` the majority decides. Evidence:
    ``places``, each with the judge's answers and words.

    Labels, for example: ``{"constraint": [["red disc", "blue square", "left"], ["green
    square", "up right"]]}``.
    """
    prompts = PlacePrompts(
        prompt, quarter_prompt, left_right_prompt, above_below_prompt
    )
    places = places_of(case.labels[constraint_key])
    return (yield from ask_places(case.judge, prompts, places, case.picture))


@question(
    source="MMMG, text rendering and Text Editing; official: image evaluators 6c7142e8",
    check=text_fault,
)
def judge_ocr(
    case: PictureCase,
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
    """The word accuracy of the text that the judge reads, compared with the row's text.

    Range 0 to 1, higher is better: 1 minus the number of errors per expected word. The
    label ``text_key`` is the expected text, and ``object_key`` names the object on
    which it is written. Without ``object_key`` the judge reads the whole picture,
    digits included. ``text_key`` may also map places to texts. Then ``object_key``
    describes the scene. If the picture shows the scene, the judge reads each place. If
    not, the text of every place counts as empty. The errors of all places are added up.
    Case, accents and punctuation do not matter (``word_accuracy`` with ``normalise:
    ocr``). If no text is expected, an empty reading is correct. ``region: bbox`` shows
    the judge only the box ``bbox_key`` of an edited picture, widened by ``margin`` as
    in ``edit_outside_ssim``.

    The score is 0 unless the answer has exactly one picture that can be decoded. It is
    unscored without the labels, or if a reply is lost. With ``lost: wrong`` (profile
    ``official``) the score is 0 if all replies are unusable. If only some replies are
    unusable, these count as empty readings. ``reading: official`` reads a strict JSON
    list in the reply and treats anything else as an empty list. ``media_first`` puts
    the picture before the words. With ``repeats`` the majority decides. Evidence:
    ``readings``, each with the judge's words, the errors, and both texts in the
    compared form.

    Labels, for example: ``{"object": "the sign", "text": "OPEN"}`` or ``{"object": "two
    signs", "text": {"the left sign": "IN", "the right sign": "OUT"}}``.
    """
    picture = region_of(case.trial, region, bbox_key=bbox_key, margin=margin)
    text, thing = case.labels[text_key], case.labels.get(object_key)
    if not isinstance(text, Mapping):
        words = prompt if thing else anywhere_prompt
        thing = thing or None
        return (yield from ask_one_place(case.judge, words, thing, text, picture))
    subject = QuestionSubject({"description": thing}, picture)
    (scene,) = yield from ask_presence(case.judge, scene_prompt, [subject])
    if scene.answer != "yes":
        return nothing_read(scene, text)
    places = [QuestionSubject({"place": place}, picture) for place in text]
    answers = yield from ask_words(case.judge, prompt, places)
    return compared(answers, list(text.values()), scene=scene.evidence)


def _one_text_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    text_key = switches["text_key"]
    if isinstance(sample.metadata.get(text_key), Mapping):
        return f"the row has several texts under {text_key!r}; write only one text"
    return text_fault(sample, switches)


@question(
    source="MMMG, Multi-Lingual Text Rendering; official: image evaluators 6c7142e8",
    check=_one_text_fault,
    second_judge=True,
    official={"common": "set"},
    version="3",  # one malformed Chinese character makes a reading empty
)
def judge_ocr_multilingual(
    case: PictureCase,
    *,
    text_key: str = "text",
    object_key: str = "object",
    common: Common = "text",
    prompt: PlacePrompt = "picture_words",
    anywhere_prompt: BarePrompt = "picture_words_anywhere",
    chinese_prompt: BarePrompt = "picture_characters",
) -> Program[Score]:
    """The accuracy of the text in a picture, with two judges for Chinese characters.

    Range 0 to 1, higher is better. If the label ``text_key`` contains Chinese
    characters, both judges read the picture. Only the characters that both judges read
    are compared, in the order of the first judge. The score is 1 minus the number of
    errors per expected character. If the text contains no Chinese characters, only the
    first judge reads the picture. ``object_key`` and everything not described here are
    as in ``judge_ocr``.

    ``common: text`` keeps all characters of the first reading that are also in the
    second. ``common: set`` (profile ``official``) keeps each of them once, since the
    released script compares sets. The script joins its set in an order that differs
    between processes, so its value for several characters cannot be reproduced. Here
    both profiles use the order of the first judge. The score is 0 unless the answer has
    exactly one picture that can be decoded. Unscored trials, ``lost``, ``reading`` and
    ``repeats`` are as in ``judge_ocr``. ``media_first`` and ``second_media_first`` put
    the picture before the words for each judge. Evidence: ``readings``, the errors, and
    both texts in the compared form.

    Labels, for example: ``{"text": "三十"}``.
    """
    text, thing = case.labels[text_key], case.labels.get(object_key) or None
    picture = case.picture
    if not han(text):
        words = prompt if thing else anywhere_prompt
        return (yield from ask_one_place(case.judge, words, thing, text, picture))
    judges = [case.judge, *case.second_judges]
    answers = yield from ask_characters(judges, chinese_prompt, picture)
    first, second = [han(answer.answer) for answer in answers]
    shared = common_characters(first, second, common)
    accuracy = accuracy_of(
        [(shared, text)], normalise="none", unit="character", blanks="keep"
    )
    readings = [answer.evidence for answer in answers]
    evidence = {"readings": readings, **accuracy.evidence}
    return value_of(answers, accuracy).scored(evidence)
