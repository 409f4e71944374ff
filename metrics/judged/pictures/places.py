"""Asks where objects are in a picture, absolutely or relative to another object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mmeval.media import Media
from mmeval.metrics.judged.pictures.asking import (
    JudgeAnswer,
    PictureJudge,
    PreparedQuestion,
    QuestionSubject,
    ask,
    ask_presence,
    letter,
)
from mmeval.metrics.judged.pictures.bounded_value import (
    BoundedValue,
    known_value,
    product,
)
from mmeval.program import Program, PromptValue
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
"""The options of each question by letter."""
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
    """Describes objects that occur once each.

    >>> exactly_one("kite", "tree")
    'exactly one kite and exactly one tree'
    """
    return " and ".join(f"exactly one {thing}" for thing in things)


class ExpectedPlace(NamedTuple):
    """An object, or a pair of objects, and the letter of the expected place."""

    where: Where
    things: Sequence[str]
    letter: str


class PlacePrompts(NamedTuple):
    """The prompts that ask if objects occur once each, and where they are."""

    presence: PromptValue
    quarter: PromptValue
    left_right: PromptValue
    above_below: PromptValue

    def of(self, where: Where) -> PromptValue:
        """Returns the prompt that asks for a place."""
        return {
            "quarter": self.quarter,
            "left_right": self.left_right,
            "above_below": self.above_below,
        }[where]


class PlaceResult(NamedTuple):
    """The judge's answers about a place.

    ``presence`` says if the objects occur once each. ``letter`` is None if they do not,
    or if the score is already known to be 0. The judge is then not asked where they
    are.
    """

    place: ExpectedPlace
    presence: JudgeAnswer
    letter: JudgeAnswer | None

    @property
    def value(self) -> BoundedValue:
        """1 if the objects are present and the letter is the expected one, else 0."""
        if self.letter is None:
            return self.presence.matches("yes")
        return self.letter.matches(self.place.letter)

    @property
    def evidence(self) -> dict[str, object]:
        evidence: dict[str, object] = {"presence": self.presence.evidence}
        if self.letter is not None:
            expected = self.place.letter
            evidence["place"] = {**self.letter.evidence, "wanted": expected}
        return evidence


def ask_places(
    judge: PictureJudge,
    prompts: PlacePrompts,
    places: Sequence[ExpectedPlace],
    picture: Media,
    **evidence: Any,
) -> Program[Score]:
    """Scores 1 if all objects occur exactly once and where they should be, else 0.

    The first step asks if the objects are present. The second step asks where they are,
    and skips places with missing objects. If the objects of any place are known to be
    absent, the second step is skipped.
    """
    subjects: list[QuestionSubject] = []
    for place in places:
        description = exactly_one(*place.things)
        subjects.append(QuestionSubject({"description": description}, picture))
    presences = yield from ask_presence(judge, prompts.presence, subjects)

    present = product([presence.matches("yes") for presence in presences])
    is_decided = present == known_value(0.0)
    questions: dict[int, PreparedQuestion] = {}
    for number, (place, presence) in enumerate(zip(places, presences, strict=True)):
        if presence.answer == "yes" and not is_decided:
            values = {"description": place.things[0]}
            if place.where != "quarter":
                values = dict(zip(("first", "second"), place.things, strict=True))
            subject = QuestionSubject(values, picture)
            prompt, options = prompts.of(place.where), OPTIONS[place.where]
            questions[number] = letter(judge, prompt, subject, options)
    letters: dict[int, JudgeAnswer] = {}
    if questions:
        answers = yield from ask(list(questions.values()), repeats=judge.repeats)
        letters = dict(zip(questions, answers, strict=True))

    results: list[PlaceResult] = []
    for number, (place, presence) in enumerate(zip(places, presences, strict=True)):
        results.append(PlaceResult(place, presence, letters.get(number)))
    value = product([result.value for result in results])
    return value.scored({**evidence, "places": [row.evidence for row in results]})


def places_of(label: Any) -> list[ExpectedPlace]:
    """Reads the places that a label lists.

    Raises ValueError if the label is invalid.
    """
    if not isinstance(label, list | tuple):
        raise ValueError("it is not a list")
    places: list[ExpectedPlace] = []
    for item in label:
        is_list = isinstance(item, list | tuple)
        if not is_list or not all(isinstance(word, str) for word in item):
            raise ValueError(f"{item!r:.80} is not a list of texts")
        if len(item) == 2 and item[1] in QUARTERS:
            places.append(ExpectedPlace("quarter", item[:1], QUARTERS[item[1]]))
        elif len(item) == 3 and item[2] in SIDES:
            where, letter = SIDES[item[2]]
            places.append(ExpectedPlace(where, item[:2], letter))
        else:
            quarters, sides = " | ".join(QUARTERS), " | ".join(SIDES)
            forms = f"[thing, {quarters}] nor [thing, other, {sides}]"
            raise ValueError(f"{item!r:.80} is neither {forms}")
    return places


def pairs_of(label: Any) -> list[ExpectedPlace]:
    """Returns the two objects or pairs of a label, without letters.

    The result is empty for other labels.
    """
    if _are_two_things(label):
        return [ExpectedPlace("quarter", [thing], "") for thing in label]
    if not isinstance(label, list | tuple) or len(label) != 2:
        return []
    if not all(map(_are_two_things, label)):
        return []
    return [
        ExpectedPlace("left_right", label[0], ""),
        ExpectedPlace("above_below", label[1], ""),
    ]


def _are_two_things(label: Any) -> bool:
    if not isinstance(label, list | tuple) or len(label) != 2:
        return False
    return all(isinstance(thing, str) and thing for thing in label)
