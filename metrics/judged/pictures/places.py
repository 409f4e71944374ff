"""Places of things in a picture, absolute or relative to another thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mmeval.media import Media
from mmeval.metrics.judged.pictures.asking import (
    About,
    Asking,
    Finding,
    Inquiry,
    ask,
    ask_presence,
    letter,
)
from mmeval.metrics.judged.pictures.worth import Worth, product, worth
from mmeval.program import Program, Written
from mmeval.records import Score

Where = Literal["quarter", "left_right", "above_below"]

OPTIONS: Mapping[Where, Mapping[str, str]] = {
    "quarter": {
        "A": "bottom left",
        "B": "bottom right",
        "C": "top left",
        "D": "top right",
        "E": "none of them: it is not there, or rather in the middle",
    },
    "left_right": {
        "A": "clearly to the left",
        "B": "clearly to the right",
        "C": "neither",
    },
    "above_below": {"A": "clearly higher", "B": "clearly lower", "C": "neither"},
}
"""The options of each question, letter by letter."""
QUARTERS: Mapping[str, str] = {
    "bottom left": "A",
    "bottom right": "B",
    "up left": "C",
    "up right": "D",
}
SIDES: Mapping[str, tuple[Where, str]] = {
    "left": ("left_right", "A"),
    "right": ("left_right", "B"),
    "above": ("above_below", "A"),
    "below": ("above_below", "B"),
}


def exactly_one(*things: str) -> str:
    """The description of things that occur once each.

    >>> exactly_one("kite", "tree")
    'exactly one kite and exactly one tree'
    """
    return " and ".join(f"exactly one {thing}" for thing in things)


class Place(NamedTuple):
    """One thing (or one relative to another) and the letter of its wanted place."""

    where: Where
    things: Sequence[str]
    letter: str


class PlacePrompts(NamedTuple):
    """The prompts of the questions whether things occur once each, and where."""

    there: Written
    quarter: Written
    left_right: Written
    above_below: Written

    def of(self, where: Where) -> Written:
        """The prompt of a question for a place."""
        return {
            "quarter": self.quarter,
            "left_right": self.left_right,
            "above_below": self.above_below,
        }[where]


class Placed(NamedTuple):
    """The findings on a place: whether its things occur once each, and the letter. The
    letter is not asked where they do not, or where another place has already failed."""

    place: Place
    presence: Finding
    letter: Finding | None

    @property
    def worth(self) -> Worth:
        """1 when the things are there and the letter is right."""
        if self.letter is None:
            return self.presence.is_("yes")
        return self.letter.is_(self.place.letter)

    @property
    def evidence(self) -> dict[str, object]:
        evidence: dict[str, object] = {"presence": self.presence.evidence}
        if self.letter is not None:
            wanted = self.place.letter
            evidence["place"] = {**self.letter.evidence, "wanted": wanted}
        return evidence


def ask_places(
    asking: Asking,
    prompts: PlacePrompts,
    places: Sequence[Place],
    picture: Media,
    **evidence: Any,
) -> Program[Score]:
    """1 when all places' things are there exactly once, and where they should be. Two
    steps: the second omits places whose things were not found, and all if those of one
    are known to be absent."""
    about: list[About] = []
    for place in places:
        about.append(About({"description": exactly_one(*place.things)}, picture))
    there = yield from ask_presence(asking, prompts.there, about)

    is_decided = product([presence.is_("yes") for presence in there]) == worth(0.0)
    inquiries: dict[int, Inquiry] = {}
    for number, (place, presence) in enumerate(zip(places, there, strict=True)):
        if presence.answer == "yes" and not is_decided:
            values = {"description": place.things[0]}
            if place.where != "quarter":
                values = dict(zip(("first", "second"), place.things, strict=True))
            where = About(values, picture)
            words, options = prompts.of(place.where), OPTIONS[place.where]
            inquiries[number] = letter(asking, words, where, options)
    letters: dict[int, Finding] = {}
    if inquiries:
        found = yield from ask(list(inquiries.values()), repeats=asking.repeats)
        letters = dict(zip(inquiries, found, strict=True))

    placed: list[Placed] = []
    for number, (place, presence) in enumerate(zip(places, there, strict=True)):
        placed.append(Placed(place, presence, letters.get(number)))
    value = product([one.worth for one in placed])
    return value.scored({**evidence, "places": [one.evidence for one in placed]})


def places_of(label: Any) -> list[Place]:
    """The places that a label lists. Raises ValueError with what is wrong with it."""
    if not isinstance(label, list | tuple):
        raise ValueError("it is no list")
    places: list[Place] = []
    for item in label:
        is_list = isinstance(item, list | tuple)
        if not is_list or not all(isinstance(word, str) for word in item):
            raise ValueError(f"{item!r:.80} is no list of texts")
        if len(item) == 2 and item[1] in QUARTERS:
            places.append(Place("quarter", item[:1], QUARTERS[item[1]]))
        elif len(item) == 3 and item[2] in SIDES:
            where, letter = SIDES[item[2]]
            places.append(Place(where, item[:2], letter))
        else:
            quarters, sides = " | ".join(QUARTERS), " | ".join(SIDES)
            known = f"[thing, {quarters}] nor [thing, other, {sides}]"
            raise ValueError(f"{item!r:.80} is neither {known}")
    return places


def pairs_of(label: Any) -> list[Place]:
    """The two things or pairs of a label, without letters; empty when it is neither."""
    if _are_two_things(label):
        return [Place("quarter", [thing], "") for thing in label]
    if not isinstance(label, list | tuple) or len(label) != 2:
        return []
    if not all(map(_are_two_things, label)):
        return []
    return [
        Place("left_right", label[0], ""),
        Place("above_below", label[1], ""),
    ]


def _are_two_things(label: Any) -> bool:
    if not isinstance(label, list | tuple) or len(label) != 2:
        return False
    return all(isinstance(thing, str) and thing for thing in label)
