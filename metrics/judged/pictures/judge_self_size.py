"""Self size: are the things in the picture in the order of size that the answer says?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import PLAIN_REPLIES, About, Asking, Lost, PresencePrompt, ask_presence
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, claim_of, supposing
from mmeval.metrics.judged.pictures.places import exactly_one
from mmeval.metrics.judged.pictures.worth import product
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.structure.self_description import Statements, sizes_in, texts_of
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

MORE: Mapping[str, str] = {
    "size": "larger",
    "area": "larger",
    "volume": "bigger",
    "length": "longer",
    "height": "higher",
}
"""What each relation makes of the greater thing."""


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    labels = sample.metadata
    if len(texts_of(labels, switches["object_key"])) < 2:
        return f"the row has no list of two texts or more under {switches['object_key']!r}"
    if labels.get(switches["relation_key"]) not in MORE:
        return f"the row's label {switches['relation_key']!r} must be one of {', '.join(MORE)}"
    if not isinstance(labels.get(switches["note_key"], ""), str):
        return f"the row's label {switches['note_key']!r} must be a text"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Self Size; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(lambda trial, switches: json.dumps(texts_of(trial.sample.metadata, switches["object_key"]))),
)
def judge_self_size(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    relation_key: str = "relation",
    note_key: str = "text",
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PresencePrompt = "picture_presence",
) -> Program[Score]:
    """1 when the judge finds the row's things in the picture, in the order of size that the answer says, else 0.

    Range 0 to 1, higher is better. The answer says it as a JSON list of the label ``object_key`` from the smallest to
    the largest, on one line; one that does not, or has not exactly one picture in one place, is 0 and nobody is asked.
    The judge is asked of every two of them. ``relation_key`` is the label that says what is compared: ``size``,
    ``area``, ``volume``, ``length`` or ``height``; ``note_key`` one with a remark for the judge, which a row may have.
    ``statements: official`` lets the list name a thing twice, of which the first entries count. Unscored without the
    labels; ``reading``, ``lost``, ``media_first`` and ``repeats`` as in ``judge_presence``. Evidence: ``claimed``, and
    ``questions`` with the judge's own words.
    """
    switches = {"object_key": object_key, "relation_key": relation_key, "note_key": note_key}
    if fault := _fault(trial.sample, switches):
        return Score.unscored(fault)
    labels = trial.sample.metadata
    objects = texts_of(labels, object_key)
    claim = claim_of(trial, statements, lambda words: sizes_in(words, objects, statements))
    if isinstance(claim, Score):
        return claim
    asking = Asking(judge, reading, lost, media_first, repeats)
    more, note = MORE[labels[relation_key]], labels.get(note_key, "")
    about = [
        About({"description": larger(small, large, more, note)}, claim.picture)
        for small, large in combinations(claim.says, 2)
    ]
    found = yield from ask_presence(asking, prompt, about)
    evidence = {"claimed": claim.says, "questions": [one.evidence for one in found]}
    return product([one.is_("yes") for one in found]).scored(evidence)


def larger(small: str, large: str, more: str, note: str = "") -> str:
    """The description of two things of which the second is the greater.

    >>> larger("pea", "plum", "larger")
    'exactly one pea and exactly one plum, and the plum is obviously larger than the pea'
    """
    description = f"{exactly_one(small, large)}, and the {large} is obviously {more} than the {small}"
    return f"{description}. {note}" if note else description
