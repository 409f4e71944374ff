"""Questions that check the answer's own claims about its pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from mmeval.metrics.judged.pictures.asking import (
    ChoicePrompt,
    DrawnPrompt,
    PairPrompt,
    PatternPrompt,
    PlacePrompt,
    PresencePrompt,
    QuestionSubject,
    ask,
    ask_presence,
    presence,
)
from mmeval.metrics.judged.pictures.bounded_value import product
from mmeval.metrics.judged.pictures.counts import FEWEST, MOST, CountOptions, ask_count
from mmeval.metrics.judged.pictures.form import (
    PictureCase,
    question,
    supposing,
    text_under,
)
from mmeval.metrics.judged.pictures.places import (
    ExpectedPlace,
    PlacePrompts,
    ask_places,
    exactly_one,
    pairs_of,
)
from mmeval.metrics.judged.pictures.readings import ask_one_place
from mmeval.metrics.judged.pictures.selection import answer_of, last_picture
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import (
    LEAST_WORDS,
    MOST_WORDS,
    colors_in,
    count_in,
    letters_in,
    pattern_in,
    said_by,
    sizes_in,
    text_in,
    texts_of,
)
from mmeval.program import Program, PromptValue
from mmeval.records import Sample, Score, Trial

MANY_COLORED = (
    "microwave",
    "ball",
    "TV",
    "globe",
    "toothbrush",
    "knife",
    "tennis racket",
    "camera",
)
"""Objects that usually show a second colour, for example on a screen or a handle."""
MORE: Mapping[str, str] = {
    "size": "larger",
    "area": "larger",
    "volume": "bigger",
    "length": "longer",
    "height": "higher",
}
"""The comparative adjective for each relation."""


def _count_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = text_under("object_key")(sample, switches)
    return fault or CountOptions(switches["fewest"], switches["most"]).fault


@question(
    source="MMMG, Self Count; official: interleaved evaluators 30c9f602",
    check=_count_fault,
    supposed=supposing(lambda _, switches: f"<count>{switches['fewest']}</count>"),
    statements=True,
)
def judge_self_count(
    case: PictureCase,
    *,
    object_key: str = "object",
    fewest: int = FEWEST,
    most: int = MOST,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge's count of objects equals the answer's claim, else 0.

    Range 0 to 1, higher is better. The answer states its claim as ``<count>4</count>``,
    from ``fewest`` to ``most``. The label ``object_key`` describes the objects. The
    score is 0 without a judge call if the claim is missing, or if there is not exactly
    one picture at one position. ``statements: official`` reads only the last digit, so
    that 14 becomes 4. Everything else is as in ``judge_count``. Evidence: ``claimed``,
    ``answer``, ``counted``, and the judge's words.

    Labels, for example: ``{"object": "blue squares"}``.
    """
    claim = case.claim(lambda words: count_in(words, case.statements))
    if not fewest <= claim <= most:
        return wrong(f"the answer says {claim}; {fewest} to {most} were asked for")
    subject = QuestionSubject({"description": case.labels[object_key]}, case.picture)
    counts = CountOptions(fewest, most)
    return (
        yield from ask_count(case.judge, prompt, subject, counts, claim, claimed=claim)
    )


def _colors_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    for key in (switches["object_key"], switches["color_key"]):
        if not texts_of(sample.metadata, key):
            return f"the row has no list of texts under {key!r}"
    return ""


def _any_colors(trial: Trial, switches: Mapping[str, Any]) -> str:
    labels = trial.sample.metadata
    objects = texts_of(labels, switches["object_key"])
    colors = texts_of(labels, switches["color_key"])
    return json.dumps(dict(zip(objects, colors, strict=False)))


@question(
    source="MMMG, Self Color; official: interleaved evaluators 30c9f602",
    check=_colors_fault,
    supposed=supposing(_any_colors),
    statements=True,
)
def judge_self_color(
    case: PictureCase,
    *,
    object_key: str = "object",
    color_key: str = "color",
    many_colored: Sequence[str] = MANY_COLORED,
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds each object once in the colour of the claim, else 0.

    Range 0 to 1, higher is better. The answer states its claim as a JSON object. The
    object maps each item of the label ``object_key`` to a different colour of the label
    ``color_key``. The score is 0 without a judge call if the claim is missing, or if
    there is not exactly one picture at one position. An object must not show another
    major colour, except for the objects in ``many_colored``. ``statements: official``
    splits the answer's text like the released script. The trial is unscored without the
    labels. ``reading``, ``lost``, ``media_first`` and ``repeats`` are as in
    ``judge_presence``. Evidence: ``claimed``, and ``questions`` with the judge's words.

    Labels, for example: ``{"object": ["disc", "bar"], "color": ["red", "blue"]}``.
    """
    objects = texts_of(case.labels, object_key)
    colors = texts_of(case.labels, color_key)
    claim = case.claim(lambda words: colors_in(words, objects, colors))
    descriptions: list[str] = []
    for thing, color in claim.items():
        descriptions.append(colored(thing, color, plain=thing not in many_colored))
    return (yield from _ask_all(case, prompt, descriptions, claimed=claim))


def colored(
    thing: str,
    color: str,
    *,
    plain: bool,
) -> str:
    """Describes an object in its colour. ``plain`` excludes another major colour.

    >>> colored("mug", "red", plain=True)
    'exactly one mug, which is mostly red and has no other major color'
    """
    description = f"{exactly_one(thing)}, which is mostly {color}"
    if plain:
        description += " and has no other major color"
    return description


def _sizes_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    labels = sample.metadata
    object_key, relation_key = switches["object_key"], switches["relation_key"]
    if len(texts_of(labels, object_key)) < 2:
        return f"the row has no list of two texts or more under {object_key!r}"
    if labels.get(relation_key) not in MORE:
        return f"the row's label {relation_key!r} must be one of {', '.join(MORE)}"
    if not isinstance(labels.get(switches["note_key"], ""), str):
        return f"the row's label {switches['note_key']!r} must be a text"
    return ""


@question(
    source="MMMG, Self Size; official: interleaved evaluators 30c9f602",
    check=_sizes_fault,
    supposed=supposing(
        lambda trial, switches: json.dumps(
            texts_of(trial.sample.metadata, switches["object_key"])
        )
    ),
    statements=True,
)
def judge_self_size(
    case: PictureCase,
    *,
    object_key: str = "object",
    relation_key: str = "relation",
    note_key: str = "text",
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds the objects in the order that the answer claims, else 0.

    Range 0 to 1, higher is better. The answer states its claim as a JSON list on one
    line: the objects of the label ``object_key`` from the smallest to the largest. The
    score is 0 without a judge call if the claim is missing, or if there is not exactly
    one picture at one position. The judge is asked about each pair of objects. The
    label ``relation_key`` names the property that is compared: ``size``, ``area``,
    ``volume``, ``length`` or ``height``. The optional label ``note_key`` is a remark
    for the judge. ``statements: official`` accepts a list that names an object twice,
    and reads only its first entries. The trial is unscored without the labels.
    ``reading``, ``lost``, ``media_first`` and ``repeats`` are as in ``judge_presence``.
    Evidence: ``claimed``, and ``questions`` with the judge's words.

    Labels, for example: ``{"object": ["disc", "square", "bar"], "relation": "size"}``.
    """
    objects = texts_of(case.labels, object_key)
    claim = case.claim(lambda words: sizes_in(words, objects, case.statements))
    more, note = MORE[case.labels[relation_key]], case.labels.get(note_key, "")
    pairs: list[str] = []
    for small, large in combinations(claim, 2):
        pairs.append(larger(small, large, more, note))
    return (yield from _ask_all(case, prompt, pairs, claimed=claim))


def larger(
    small: str,
    large: str,
    more: str,
    note: str = "",
) -> str:
    """Describes two objects of which the second is the greater one.

    >>> larger("pea", "plum", "larger")
    'exactly one pea and exactly one plum, and the plum is obviously larger than the pea'
    """  # noqa: E501
    things = exactly_one(small, large)
    description = f"{things}, and the {large} is obviously {more} than the {small}"
    if note:
        description += f". {note}"
    return description


def _ask_all(
    case: PictureCase, prompt: PromptValue, descriptions: Sequence[str], **evidence: Any
) -> Program[Score]:
    """Scores 1 if the picture shows everything that is described, else 0."""
    subjects: list[QuestionSubject] = []
    for description in descriptions:
        subjects.append(QuestionSubject({"description": description}, case.picture))
    answers = yield from ask_presence(case.judge, prompt, subjects)
    questions = [answer.evidence for answer in answers]
    value = product([answer.matches("yes") for answer in answers])
    return value.scored({**evidence, "questions": questions})


def _pairs_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if pairs_of(sample.metadata.get(switches["object_key"])):
        return ""
    return (
        f"the row's label {switches['object_key']!r} must be two things, or two pairs "
        "of things"
    )


@question(
    source="MMMG, Self Relative Spatial and Self Absolute Spatial; official: "
    "interleaved evaluators 30c9f602",
    check=_pairs_fault,
    supposed=supposing(lambda *_: '["a", "a"]'),
    statements=True,
)
def judge_self_position(
    case: PictureCase,
    *,
    object_key: str = "object",
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds the row's objects where the answer claims them, else 0.

    Range 0 to 1, higher is better. The label ``object_key`` is two objects or two pairs
    of objects. For two objects the answer states the quarter of the picture in which
    each of them is: A bottom left, B bottom right, C top left, D top right. For the
    first of two pairs it states if one object is left (A) or right (B) of the other, or
    neither (C). For the second pair it states if one object is higher (A) or lower (B)
    than the other, or neither (C). The claim is a JSON list of two letters on one line.
    The score is 0 without a judge call if the claim is missing, or if there is not
    exactly one picture at one position. The judge is asked if the objects occur exactly
    once, and if so, where they are. ``statements: official`` splits the answer's text
    like the released script. The trial is unscored without the label. Other switches
    are as in ``judge_position``. Evidence: ``claimed``, and ``places`` with the judge's
    words.

    Labels, for example: ``{"object": [["red disc", "blue square"], ["green bar", "red
    disc"]]}``.
    """
    pairs = pairs_of(case.labels[object_key])
    letters = "abcd" if pairs[0].where == "quarter" else "abc"
    numbers = case.claim(lambda words: letters_in(words, letters, len(pairs)))
    claimed = [letters[number].upper() for number in numbers]
    places: list[ExpectedPlace] = []
    for place, letter in zip(pairs, claimed, strict=True):
        places.append(place._replace(letter=letter))
    prompts = PlacePrompts(
        prompt, quarter_prompt, left_right_prompt, above_below_prompt
    )
    picture = case.picture
    return (
        yield from ask_places(case.judge, prompts, places, picture, claimed=claimed)
    )


@question(
    source="MMMG, Self OCR; official: interleaved evaluators 30c9f602",
    check=text_under("object_key"),
    supposed=supposing(
        lambda _, switches: f"<text>{' '.join(['word'] * switches['least'])}</text>"
    ),
    statements=True,
)
def judge_self_text(
    case: PictureCase,
    *,
    object_key: str = "object",
    least: int = LEAST_WORDS,
    most: int = MOST_WORDS,
    prompt: PlacePrompt = "picture_words",
) -> Program[Score]:
    """The word accuracy of the text that the judge reads, compared with the claim.

    Range 0 to 1, higher is better. The answer states its claim as ``<text>...</text>``
    with ``least`` to ``most`` words on one line. The score is 0 without a judge call if
    the claim is missing, or if there is not exactly one picture at one position. The
    label ``object_key`` names the object with the text. With ``statements: official``,
    words are separated by single spaces. Everything else is as in ``judge_ocr``.
    Evidence: ``claimed``, ``readings`` with the judge's words, the errors, and both
    texts in the compared form.

    Labels, for example: ``{"object": "the board"}``.
    """
    claim = case.claim(
        lambda words: text_in(words, case.statements, least=least, most=most)
    )
    thing, picture = case.labels[object_key], case.picture
    return (
        yield from ask_one_place(
            case.judge, prompt, thing, claim, picture, claimed=claim
        )
    )


@question(
    source="MMMG, Interleaved Math; official: interleaved evaluators 30c9f602",
    check=text_under("pattern_key"),
    supposed=supposing(lambda *_: "<<a pattern>>"),
    statements=True,
)
def judge_pattern(
    case: PictureCase,
    *,
    pattern_key: str = "pattern",
    prompt: PatternPrompt = "pattern_described",
    picture_prompt: DrawnPrompt = "pattern_drawn",
) -> Program[Score]:
    """1 when the answer's words and last picture both agree with the pattern, else 0.

    Range 0 to 1, higher is better. The answer's description of the pattern is the first
    ``<<...>>`` on one line. The label ``pattern_key`` is the true description. The
    score is 0 without a judge call if the answer has no description or no picture in
    its text, or if its last picture is damaged. The trial is unscored without the
    label, or if a reply that matters is lost. ``lost: wrong`` (profile ``official``) is
    as in ``judge_presence``. ``reading: official`` searches the last 20 characters of
    the reply for "yes". ``statements: official`` splits the answer's text like the
    released script. ``media_first`` puts the picture before the words. With ``repeats``
    the majority decides. Evidence: ``claimed``, ``words`` and ``picture`` with the
    judge's words.

    Labels, for example: ``{"pattern": "a row of three squares"}``.
    """
    picture = last_picture(case.trial, case.statements)
    claim = pattern_in(said_by(answer_of(case.trial), case.statements).words)
    if claim is None:
        return wrong("the answer does not describe the pattern in <<...>>")
    pattern = case.labels[pattern_key]
    about_words = QuestionSubject({"pattern": pattern, "claim": claim})
    about_picture = QuestionSubject({"pattern": pattern}, picture)
    described = presence(case.judge, prompt, about_words)
    drawn = presence(case.judge, picture_prompt, about_picture)
    words, image = yield from ask([described, drawn], repeats=case.judge.repeats)
    evidence = {"claimed": claim, "words": words.evidence, "picture": image.evidence}
    return product([words.matches("yes"), image.matches("yes")]).scored(evidence)
