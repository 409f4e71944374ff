"""Places: where a thing is in a picture, and where it is seen from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mmeval.content import Media
from mmeval.metrics.judged.pictures.asking import (
    About,
    Asking,
    Finding,
    Inquiry,
    Written,
    ask,
    ask_presence,
    letter,
)
from mmeval.metrics.judged.pictures.worth import Worth, product, worth
from mmeval.program import Program

Where = Literal["quarter", "left_right", "above_below"]

OPTIONS: Mapping[Where, Mapping[str, str]] = {
    "quarter": {
        "A": "bottom left",
        "B": "bottom right",
        "C": "top left",
        "D": "top right",
        "E": "none of them: it is not there, or rather in the middle",
    },
    "left_right": {"A": "clearly to the left", "B": "clearly to the right", "C": "neither"},
    "above_below": {"A": "clearly higher", "B": "clearly lower", "C": "neither"},
}
"""The options of each question, letter by letter."""
QUARTERS: Mapping[str, str] = {"bottom left": "A", "bottom right": "B", "up left": "C", "up right": "D"}
SIDES: Mapping[str, tuple[Where, str]] = {
    "left": ("left_right", "A"),
    "right": ("left_right", "B"),
    "above": ("above_below", "A"),
    "below": ("above_below", "B"),
}


def exactly_one(*things: str) -> str:
    """The description of things that are there once each.

    >>> exactly_one("kite", "tree")
    'exactly one kite and exactly one tree'
    """
    return " and ".join(f"exactly one {thing}" for thing in things)


class Place(NamedTuple):
    """One thing (or one seen from another) and the letter that says where it should be."""

    where: Where
    things: Sequence[str]
    letter: str


class Placed(NamedTuple):
    """What was found out of a place: whether its things are there once each, and the letter. That is not asked where
    they are not, nor where another place has decided that not all can be right."""

    place: Place
    presence: Finding
    letter: Finding | None

    @property
    def worth(self) -> Worth:
        """1 when the things are there and the letter is the right one."""
        return self.presence.is_("yes") if self.letter is None else self.letter.is_(self.place.letter)

    @property
    def evidence(self) -> dict[str, object]:
        found = {} if self.letter is None else {"place": {**self.letter.evidence, "wanted": self.place.letter}}
        return {"presence": self.presence.evidence, **found}


def ask_places(
    asking: Asking, presence_prompt: Written, prompts: Mapping[Where, Written], places: Sequence[Place], picture: Media
) -> Program[list[Placed]]:
    """Are the things of all places there exactly once, and if they are, where? Two steps; the second leaves out places
    whose things are not known to be there, and all of them where the things of one are known not to be."""
    about = [About({"description": exactly_one(*place.things)}, picture) for place in places]
    there = yield from ask_presence(asking, presence_prompt, about)
    if product([one.is_("yes") for one in there]) == worth(0.0):
        return [Placed(place, presence, None) for place, presence in zip(places, there, strict=True)]
    present = [place for place, presence in zip(places, there, strict=True) if presence.answer == "yes"]
    inquiries = [_where(asking, prompts, place, picture) for place in present]
    found = iter((yield from ask(inquiries, repeats=asking.repeats)) if inquiries else [])
    return [
        Placed(place, presence, next(found) if presence.answer == "yes" else None)
        for place, presence in zip(places, there, strict=True)
    ]


def _where(asking: Asking, prompts: Mapping[Where, Written], place: Place, picture: Media) -> Inquiry:
    return letter(asking, prompts[place.where], About(_values(place), picture), OPTIONS[place.where])


def _values(place: Place) -> dict[str, str]:
    if place.where == "quarter":
        return {"description": place.things[0]}
    return {"first": place.things[0], "second": place.things[1]}
