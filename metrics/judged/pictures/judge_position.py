"""Position: are things where they should be, in the picture or beside each other?"""

from __future__ import annotations

from collections.abc import Mapping
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
from mmeval.metrics.judged.pictures.looked_at import only_picture
from mmeval.metrics.judged.pictures.places import QUARTERS, SIDES, Place, ask_places
from mmeval.metrics.judged.pictures.worth import product
from mmeval.metrics.judged.reading import Reading
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["constraint_key"]
    try:
        places = _places(sample.metadata.get(key))
    except ValueError as error:
        return f"the row's label {key!r}: {error}"
    return "" if places else f"the row has no places under {key!r}"


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Relative Spatial and Absolute Spatial; official: image evaluators 6c7142e8",
    needs=NEEDS,
    profiles={"official": PLAIN_REPLIES},
    check=_fault,
)
def judge_position(
    trial: Trial,
    judge: Role,
    *,
    constraint_key: str = "constraint",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    repeats: Repeats = 1,
    prompt: PresencePrompt = "picture_presence",
    quarter_prompt: ChoicePrompt = "picture_quarter",
    left_right_prompt: PairPrompt = "picture_left_right",
    above_below_prompt: PairPrompt = "picture_above_below",
) -> Program[Score]:
    """1 when the judge finds all of the row's things where they should be, else 0.

    Range 0 to 1, higher is better. The label ``constraint_key`` is a list of ``[thing, place]``, a place being
    ``bottom left``, ``bottom right``, ``up left`` or ``up right``, and of ``[thing, other, side]``, a side being
    ``left``, ``right``, ``above`` or ``below``. For each the judge is asked whether the things are there exactly once,
    and if they are, where.

    The answer must have exactly one picture that can be decoded, else it is 0. Unscored without the label, or where a
    reply is lost that matters; ``lost: wrong`` (profile ``official``) as in ``judge_presence``. ``reading: official``
    takes the first ``Answer: X`` of the reply, written exactly like that. ``media_first`` puts the picture before the
    words, ``repeats`` lets the majority decide. Evidence: ``places``, each with what was found and the judge's own
    words.
    """
    if fault := _fault(trial.sample, {"constraint_key": constraint_key}):
        return Score.unscored(fault)
    picture = only_picture(trial)
    if isinstance(picture, Score):
        return picture
    asking = Asking(judge, reading, lost, media_first, repeats)
    places = _places(trial.sample.metadata[constraint_key])
    found = yield from ask_places(
        asking,
        prompt,
        {"quarter": quarter_prompt, "left_right": left_right_prompt, "above_below": above_below_prompt},
        places,
        picture,
    )
    return product([one.worth for one in found]).scored({"places": [one.evidence for one in found]})


def _places(label: Any) -> list[Place]:
    """Raises ValueError that says what is wrong with the label."""
    if not isinstance(label, list | tuple):
        raise ValueError("it is no list")
    return [_place(item) for item in label]


def _place(item: Any) -> Place:
    if not isinstance(item, list | tuple) or not all(isinstance(word, str) for word in item):
        raise ValueError(f"{item!r:.80} is no list of texts")
    if len(item) == 2 and item[1] in QUARTERS:
        return Place("quarter", item[:1], QUARTERS[item[1]])
    if len(item) == 3 and item[2] in SIDES:
        where, letter = SIDES[item[2]]
        return Place(where, item[:2], letter)
    known = f"[thing, {' | '.join(QUARTERS)}] nor [thing, other, {' | '.join(SIDES)}]"
    raise ValueError(f"{item!r:.80} is neither {known}")
