"""Reads and writes the turns of an answer to a maze.

    Step 0
    Action: Right
    Location: [1, 0]
    Image:

The picture follows these lines. A turn may lack any of them. A missing turn is not
written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mmeval.media import Interleaved, Part, text_part

_STEP = re.compile(r"Step ([0-9]{1,9})")
_BREAK = re.compile(r"[^\S ]")
_ACTION, _LOCATION, _IMAGE = "Action:", "Location:", "Image:"


class MazeTurn(NamedTuple):
    """A turn of an answer.

    ``action`` is a word. ``location`` is a JSON value, or None if it is missing or
    unreadable. ``picture`` is a part, or None. The part has no medium if its file is
    missing.
    """

    step: int
    action: str = ""
    location: Any = None
    picture: Part | None = None


def turns_of(answer: Interleaved | None) -> Mapping[int, MazeTurn]:
    """Reads the turns in an answer by step, counted from 0.

    If a step occurs twice, the later turn is used. Only the first picture of a turn is
    used. Everything before the first step is skipped.
    """
    turns: dict[int, MazeTurn] = {}
    turn: MazeTurn | None = None
    for part in answer.parts if answer else ():
        if part.kind == "image" and turn is not None and turn.picture is None:
            turn = turns[turn.step] = turn._replace(picture=part)
        if part.kind != "text":
            continue
        for line in (part.text or "").splitlines():
            step = _STEP.fullmatch(line.strip())
            if step:
                turn = MazeTurn(int(step[1]))
            elif turn is None:
                continue
            elif line.startswith(_ACTION):
                action = line.removeprefix(_ACTION).removeprefix(" ")
                turn = turn._replace(action=action)
            elif line.startswith(_LOCATION):
                turn = turn._replace(location=_json(line.removeprefix(_LOCATION)))
            turns[turn.step] = turn
    return turns


def turn_parts(turn: MazeTurn) -> tuple[Part, ...]:
    """Writes a turn as parts of an answer, which :func:`turns_of` can read.

    Line breaks in an action become spaces.
    """
    lines = [f"Step {turn.step}"]
    if turn.action:
        lines.append(f"{_ACTION} {_BREAK.sub(' ', turn.action)}")
    if turn.location is not None:
        lines.append(f"{_LOCATION} {json.dumps(turn.location)}")
    words = text_part("\n".join([*lines, _IMAGE, ""]))
    return (words,) if turn.picture is None else (words, turn.picture)


def answer_of(turns: Iterable[MazeTurn]) -> Interleaved:
    """Joins turns into an answer."""
    parts: list[Part] = []
    for turn in turns:
        parts += turn_parts(turn)
    return Interleaved(tuple(parts))


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float:
    """Parses a number. Raises ValueError for a number that is invalid in JSON."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
