"""Claims of the answer: questions about its pictures, answered as its words say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from mmeval.metrics.judged.pictures.asking import (
    About,
    ChoicePrompt,
    DrawnPrompt,
    PairPrompt,
    PatternPrompt,
    PlacePrompt,
    PresencePrompt,
    ask,
    ask_presence,
    presence,
)
from mmeval.metrics.judged.pictures.counts import FEWEST, MOST, Counts, ask_count
from mmeval.metrics.judged.pictures.form import Look, question, supposing, text_under
from mmeval.metrics.judged.pictures.places import (
    Place,
    PlacePrompts,
    ask_places,
    exactly_one,
    pairs_of,
)
from mmeval.metrics.judged.pictures.readings import ask_one_place
from mmeval.metrics.judged.pictures.shown import answer_of, last_picture
from mmeval.metrics.judged.pictures.worth import product
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
from mmeval.program import Program, Written
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
"""Things that have a second colour by nature: their screen, their handle, their
strings."""
MORE: Mapping[str, str] = {
    "size": "larger",
    "area": "larger",
    "volume": "bigger",
    "length": "longer",
    "height": "higher",
}
"""The comparative of each relation."""


def _count_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = text_under("object_key")(sample, switches)
    return fault or Counts(switches["fewest"], switches["most"]).fault


@question(
    source="MMMG, Self Count; official: interleaved evaluators 30c9f602",
    check=_count_fault,
    supposed=supposing(lambda _, switches: f"<count>{switches['fewest']}</count>"),
    statements=True,
)
def judge_self_count(
    look: Look,
    *,
    object_key: str = "object",
    fewest: int = FEWEST,
    most: int = MOST,
    prompt: ChoicePrompt = "picture_count",
) -> Program[Score]:
    """1 when the judge counts as many things as the answer itself says, else 0.

    Range 0 to 1, higher is better. The answer says it as ``<count>4</count>``, from
    ``fewest`` to ``most``; without this, or without exactly one picture in one place,
    it is 0 and no judge is asked. ``statements: official`` reads only the last digit,
    so that 14 is 4. Everything else as in ``judge_count``. Evidence: ``claimed``,
    ``answer``, ``counted``, the judge's own words.
    """
    says = look.claim(lambda words: count_in(words, look.statements))
    if not fewest <= says <= most:
        return wrong(f"the answer says {says}; {fewest} to {most} were asked for")
    about = About({"description": look.labels[object_key]}, look.picture)
    counts = Counts(fewest, most)
    return (
        yield from ask_count(look.asking, prompt, about, counts, says, claimed=says)
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
    look: Look,
    *,
    object_key: str = "object",
    color_key: str = "color",
    many_colored: Sequence[str] = MANY_COLORED,
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds each thing once, in the colour the answer says, else 0.

    Range 0 to 1, higher is better. The answer says it as a JSON object from each of the
    label ``object_key`` to a different one of ``color_key``; without this, or without
    exactly one picture in one place, it is 0 and no judge is asked. The colour has to
    be the only major one, except for things that are ``many_colored``. ``statements:
    official`` takes the answer's words as the release cuts them. Unscored without the
    labels; ``reading``, ``lost``, ``media_first`` and ``repeats`` as in
    ``judge_presence``. Evidence: ``claimed``, and ``questions`` with the judge's own
    words.
    """
    objects = texts_of(look.labels, object_key)
    colors = texts_of(look.labels, color_key)
    says = look.claim(lambda words: colors_in(words, objects, colors))
    things: list[str] = []
    for thing, color in says.items():
        things.append(colored(thing, color, plain=thing not in many_colored))
    return (yield from _ask_all(look, prompt, things, claimed=says))


def colored(
    thing: str,
    color: str,
    *,
    plain: bool,
) -> str:
    """The description of a thing in its colour; ``plain``: with no other major one.

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
    look: Look,
    *,
    object_key: str = "object",
    relation_key: str = "relation",
    note_key: str = "text",
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds the things in the order of size the answer says, else 0.

    Range 0 to 1, higher is better. The answer says it as a JSON list of the label
    ``object_key`` from the smallest to the largest, on one line; without this, or
    without exactly one picture in one place, it is 0 and no judge is asked. The judge
    is asked about every two of them. ``relation_key`` is the label that says what is
    compared: ``size``, ``area``, ``volume``, ``length`` or ``height``; ``note_key`` one
    with a remark for the judge, which a row may have. ``statements: official`` lets the
    list name a thing twice, of which the first entries count. Unscored without the
    labels; ``reading``, ``lost``, ``media_first`` and ``repeats`` as in
    ``judge_presence``. Evidence: ``claimed``, and ``questions`` with the judge's own
    words.
    """
    objects = texts_of(look.labels, object_key)
    says = look.claim(lambda words: sizes_in(words, objects, look.statements))
    more, note = MORE[look.labels[relation_key]], look.labels.get(note_key, "")
    pairs: list[str] = []
    for small, large in combinations(says, 2):
        pairs.append(larger(small, large, more, note))
    return (yield from _ask_all(look, prompt, pairs, claimed=says))


def larger(
    small: str,
    large: str,
    more: str,
    note: str = "",
) -> str:
    """The description of two things of which the second is the greater.

    >>> larger("pea", "plum", "larger")
    'exactly one pea and exactly one plum, and the plum is obviously larger than the pea'
    """  # noqa: E501
    things = exactly_one(small, large)
    description = f"{things}, and the {large} is obviously {more} than the {small}"
    if note:
        description += f". {note}"
    return description


def _ask_all(
    look: Look, prompt: Written, descriptions: Sequence[str], **evidence: Any
) -> Program[Score]:
    """1 when the picture shows everything that is described."""
    about: list[About] = []
    for description in descriptions:
        about.append(About({"description": description}, look.picture))
    found = yield from ask_presence(look.asking, prompt, about)
    questions = [finding.evidence for finding in found]
    value = product([finding.is_("yes") for finding in found])
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
    look: Look,
    *,
    object_key: str = "object",
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds the row's things where the answer itself says, else 0.

    Range 0 to 1, higher is better. The label ``object_key`` is two things, of which the
    answer says the quarter (A bottom left, B bottom right, C top left, D top right), or
    two pairs: of the first, whether the one is left (A) or right (B) of the other or
    neither (C), of the second, whether it is higher (A), lower (B) or neither (C). The
    answer says it as a JSON list of two letters, on one line; without this, or without
    exactly one picture in one place, it is 0 and no judge is asked. For each the judge
    is asked whether the things are there exactly once, and if so, where. ``statements:
    official`` takes the answer's words as the release cuts them. Unscored without the
    label; the other switches as in ``judge_position``. Evidence: ``claimed``, and
    ``places`` with the judge's own words.
    """
    asked = pairs_of(look.labels[object_key])
    letters = "abcd" if asked[0].where == "quarter" else "abc"
    says = look.claim(lambda words: letters_in(words, letters, len(asked)))
    claimed = [letters[number].upper() for number in says]
    places: list[Place] = []
    for place, letter in zip(asked, claimed, strict=True):
        places.append(place._replace(letter=letter))
    prompts = PlacePrompts(
        prompt, quarter_prompt, left_right_prompt, above_below_prompt
    )
    picture = look.picture
    return (
        yield from ask_places(look.asking, prompts, places, picture, claimed=claimed)
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
    look: Look,
    *,
    object_key: str = "object",
    least: int = LEAST_WORDS,
    most: int = MOST_WORDS,
    prompt: PlacePrompt = "picture_words",
) -> Program[Score]:
    """The word accuracy of the text that the judge reads, against the answer's claim.

    Range 0 to 1, higher is better. The answer says it as ``<text>...</text>``,
    ``least`` to ``most`` words on one line; without this, or without exactly one
    picture in one place, it is 0 and no judge is asked. The label ``object_key`` names
    the thing with the text. ``statements: official`` counts as words the pieces between
    single blanks. Everything else as in ``judge_ocr``. Evidence: ``claimed``,
    ``readings`` with the judge's own words, the errors, and both sides as they were
    compared.
    """
    says = look.claim(
        lambda words: text_in(words, look.statements, least=least, most=most)
    )
    thing, picture = look.labels[object_key], look.picture
    return (
        yield from ask_one_place(
            look.asking, prompt, thing, says, picture, claimed=says
        )
    )


@question(
    source="MMMG, Interleaved Math; official: interleaved evaluators 30c9f602",
    check=text_under("pattern_key"),
    supposed=supposing(lambda *_: "<<a pattern>>"),
    statements=True,
)
def judge_pattern(
    look: Look,
    *,
    pattern_key: str = "pattern",
    prompt: PatternPrompt = "pattern_described",
    picture_prompt: DrawnPrompt = "pattern_drawn",
) -> Program[Score]:
    """1 when the answer's words and last picture both agree with the pattern, else 0.

    Range 0 to 1, higher is better. The answer's words for it are the first ``<<...>>``
    on one line; the label ``pattern_key`` describes the true pattern. An answer without
    these words, without a picture in a place, or whose last picture is damaged
    is 0 and no judge is asked. Unscored without the label, or where a reply is lost
    that matters; ``lost: wrong`` (profile ``official``) as in ``judge_presence``.
    ``reading: official`` looks for "yes" in the last 20 characters of the reply;
    ``statements: official`` takes the answer's words as the release cuts them.
    ``media_first`` puts the picture before the words, ``repeats`` lets the majority
    decide. Evidence: ``claimed``, ``words`` and ``picture`` with the judge's own words.
    """
    picture = last_picture(look.trial, look.statements)
    says = pattern_in(said_by(answer_of(look.trial), look.statements).words)
    if says is None:
        return wrong("the answer does not describe the pattern in <<...>>")
    pattern = look.labels[pattern_key]
    claim = About({"pattern": pattern, "claim": says})
    described = presence(look.asking, prompt, claim)
    drawn = presence(look.asking, picture_prompt, About({"pattern": pattern}, picture))
    words, seen = yield from ask([described, drawn], repeats=look.asking.repeats)
    evidence = {"claimed": says, "words": words.evidence, "picture": seen.evidence}
    return product([words.is_("yes"), seen.is_("yes")]).scored(evidence)
