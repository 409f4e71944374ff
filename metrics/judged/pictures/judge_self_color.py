"""Self colour: have the things in the picture the colours that the answer says?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import PLAIN_REPLIES, About, Asking, Lost, PresencePrompt, ask_presence
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, claim_of, supposing
from mmeval.metrics.judged.pictures.places import exactly_one
from mmeval.metrics.judged.pictures.worth import product
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.structure.self_description import Statements, colors_in, texts_of
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

MANY_COLORED = ("microwave", "ball", "TV", "globe", "toothbrush", "knife", "tennis racket", "camera")
"""Things that have a second colour by nature: their screen, their handle, their strings."""


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    for key in (switches["object_key"], switches["color_key"]):
        if not texts_of(sample.metadata, key):
            return f"the row has no list of texts under {key!r}"
    return ""


def _any_colors(trial: Trial, switches: Mapping[str, Any]) -> str:
    objects, colors = (texts_of(trial.sample.metadata, switches[key]) for key in ("object_key", "color_key"))
    return json.dumps(dict(zip(objects, colors, strict=False)))


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Self Color; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(_any_colors),
)
def judge_self_color(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    color_key: str = "color",
    many_colored: Sequence[str] = MANY_COLORED,
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds each of the row's things in the picture once, in the colour that the answer says, else 0.

    Range 0 to 1, higher is better. The answer says it as a JSON object from each of the label ``object_key`` to a
    different one of ``color_key``; one that does not, or has not exactly one picture in one place, is 0 and nobody is
    asked. The colour has to be the only major one, except of things that are ``many_colored``. ``statements: official``
    takes the answer's words as the release cuts them. Unscored without the labels; ``reading``, ``lost``,
    ``media_first`` and ``repeats`` as in ``judge_presence``. Evidence: ``claimed``, and ``questions`` with the judge's
    own words.
    """
    if fault := _fault(trial.sample, {"object_key": object_key, "color_key": color_key}):
        return Score.unscored(fault)
    objects, colors = (texts_of(trial.sample.metadata, key) for key in (object_key, color_key))
    claim = claim_of(trial, statements, lambda words: colors_in(words, objects, colors))
    if isinstance(claim, Score):
        return claim
    asking = Asking(judge, reading, lost, media_first, repeats)
    about = [
        About({"description": colored(thing, color, plain=thing not in many_colored)}, claim.picture)
        for thing, color in claim.says.items()
    ]
    found = yield from ask_presence(asking, prompt, about)
    evidence = {"claimed": claim.says, "questions": [one.evidence for one in found]}
    return product([one.is_("yes") for one in found]).scored(evidence)


def colored(thing: str, color: str, *, plain: bool) -> str:
    """The description of a thing in its colour; ``plain``: no other major one is on it.

    >>> colored("mug", "red", plain=True)
    'exactly one mug, which is mostly red and has no other major color'
    """
    return f"{exactly_one(thing)}, which is mostly {color}" + (" and has no other major color" if plain else "")
