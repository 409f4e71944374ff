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


_PAIRS: tuple[Where, Where] = ("left_right", "above_below")
"""The question for the first pair of things, and for the second."""


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
        return (
            self.presence.is_("yes")
            if self.letter is None
            else self.letter.is_(self.place.letter)
        )

    @property
    def evidence(self) -> dict[str, object]:
        found = (
            {}
            if self.letter is None
            else {"place": {**self.letter.evidence, "wanted": self.place.letter}}
        )
        return {"presence": self.presence.evidence, **found}


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
    about = [
        About({"description": exactly_one(*place.things)}, picture) for place in places
    ]
    there = yield from ask_presence(asking, prompts.there, about)
    decided = product([one.is_("yes") for one in there]) == worth(0.0)
    looked_for = [not decided and presence.answer == "yes" for presence in there]
    inquiries = [
        _where(asking, prompts, place, picture)
        for place, asked in zip(places, looked_for, strict=True)
        if asked
    ]
    found = iter(
        (yield from ask(inquiries, repeats=asking.repeats)) if inquiries else []
    )
    placed = [
        Placed(place, presence, next(found) if asked else None)
        for place, presence, asked in zip(places, there, looked_for, strict=True)
    ]
    return product([one.worth for one in placed]).scored(
        {**evidence, "places": [one.evidence for one in placed]}
    )


def _where(
    asking: Asking, prompts: PlacePrompts, place: Place, picture: Media
) -> Inquiry:
    names = ("description",) if place.where == "quarter" else ("first", "second")
    about = About(dict(zip(names, place.things, strict=True)), picture)
    return letter(asking, prompts.of(place.where), about, OPTIONS[place.where])


def places_of(label: Any) -> list[Place]:
    """The places that a label lists. Raises ValueError with what is wrong with it."""
    if not isinstance(label, list | tuple):
        raise ValueError("it is no list")
    return [_place(item) for item in label]


def _place(item: Any) -> Place:
    if not isinstance(item, list | tuple) or not all(
        isinstance(word, str) for word in item
    ):
        raise ValueError(f"{item!r:.80} is no list of texts")
    if len(item) == 2 and item[1] in QUARTERS:
        return Place("quarter", item[:1], QUARTERS[item[1]])
    if len(item) == 3 and item[2] in SIDES:
        where, letter = SIDES[item[2]]
        return Place(where, item[:2], letter)
    known = f"[thing, {' | '.join(QUARTERS)}] nor [thing, other, {' | '.join(SIDES)}]"
    raise ValueError(f"{item!r:.80} is neither {known}")


def pairs_of(label: Any) -> list[Place]:
    """The two things or pairs of a label, without letters; empty when it is neither."""
    if not isinstance(label, list | tuple) or len(label) != 2:
        return []
    if all(isinstance(thing, str) and thing for thing in label):
        return [Place("quarter", [thing], "") for thing in label]
    if all(_is_pair(pair) for pair in label):
        return [
            Place(where, pair, "") for where, pair in zip(_PAIRS, label, strict=True)
        ]
    return []


def _is_pair(pair: Any) -> bool:
    items: Sequence[Any] = pair if isinstance(pair, list | tuple) else ()
    return len(items) == 2 and all(isinstance(thing, str) and thing for thing in items)
