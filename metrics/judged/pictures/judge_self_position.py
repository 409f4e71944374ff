"""Self position: are the things in the picture where the answer says?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.image.pictures import NEEDS
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    Asking,
    ChoicePrompt,
    Lost,
    PairPrompt,
    PresencePrompt,
)
from mmeval.metrics.judged.pictures.claims import OFFICIAL_CLAIMS, claim_of, supposing
from mmeval.metrics.judged.pictures.places import Place, Where, ask_places
from mmeval.metrics.judged.pictures.worth import product
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.structure.self_description import Statements, letters_in
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

_SIDES: tuple[Where, Where] = ("left_right", "above_below")
"""What the first pair of things is asked for, and the second."""


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if _asked(sample.metadata.get(switches["object_key"])):
        return ""
    return f"the row's label {switches['object_key']!r} must be two things, or two pairs of things"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Self Relative Spatial and Self Absolute Spatial; official: interleaved evaluators 30c9f602",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, **OFFICIAL_CLAIMS}},
    check=_fault,
    supposed=supposing(lambda *_: '["a", "a"]'),
)
def judge_self_position(
    trial: Trial,
    judge: Role,
    *,
    object_key: str = "object",
    statements: Statements = "standard",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds the row's things in the picture where the answer itself says, else 0.

    Range 0 to 1, higher is better. The label ``object_key`` is two things, of which the answer says the quarter (A
    bottom left, B bottom right, C top left, D top right), or two pairs: of the first, whether the one is left (A) or
    right (B) of the other or neither (C), of the second, whether it is higher (A), lower (B) or neither (C). The answer
    says it as a JSON list of two letters, on one line; one that does not, or has not exactly one picture in one place,
    is 0 and nobody is asked. For each the judge is asked whether the things are there exactly once, and if they are,
    where. ``statements: official`` takes the answer's words as the release cuts them. Unscored without the label; the
    other switches as in ``judge_position``. Evidence: ``claimed``, and ``places`` with the judge's own words.
    """
    if fault := _fault(trial.sample, {"object_key": object_key}):
        return Score.unscored(fault)
    asked = _asked(trial.sample.metadata[object_key])
    letters = "abcd" if asked[0].where == "quarter" else "abc"
    claim = claim_of(trial, statements, lambda words: letters_in(words, letters, len(asked)))
    if isinstance(claim, Score):
        return claim
    said = [letters[number].upper() for number in claim.says]
    asking = Asking(judge, reading, lost, media_first, repeats)
    found = yield from ask_places(
        asking,
        prompt,
        {"quarter": quarter_prompt, "left_right": left_right_prompt, "above_below": above_below_prompt},
        [place._replace(letter=letter) for place, letter in zip(asked, said, strict=True)],
        claim.picture,
    )
    evidence = {"claimed": said, "places": [one.evidence for one in found]}
    return product([one.worth for one in found]).scored(evidence)


def _asked(label: Any) -> list[Place]:
    """The two things or pairs of a label, without a letter yet; empty when it is neither."""
    if not isinstance(label, list | tuple) or len(label) != 2:
        return []
    if all(isinstance(thing, str) and thing for thing in label):
        return [Place("quarter", [thing], "") for thing in label]
    if all(_is_pair(pair) for pair in label):
        return [Place(where, pair, "") for where, pair in zip(_SIDES, label, strict=True)]
    return []


def _is_pair(pair: Any) -> bool:
    items: Sequence[Any] = pair if isinstance(pair, list | tuple) else ()
    return len(items) == 2 and all(isinstance(thing, str) and thing for thing in items)
