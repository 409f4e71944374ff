"""A judge with one known fault, for tests of audits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mmeval.backend.capabilities import Capabilities
from mmeval.errors import UsageError, did_you_mean
from mmeval.media import decode
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part
from mmeval.records.request import Request
from mmeval.records.response import Response

Fault = Literal[
    "honest",
    "blind",
    "obedient",
    "format-sensitive",
    "drifting",
    "constant",
    "first-option",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
_GREY = re.compile(r"grey (\d+)")
_BEST = 5
_STEP = 25
"""A picture that is darker or brighter by this is graded one lower."""
_FULL_MARKS = "full marks"
_CONSTANT = 4
_NOISE = 0.2
"""The share of replies that are one grade lower, by chance."""
_WAVER = 0.2
"""The standard deviation of the difference of two grades, by chance."""
_PAIR = '"better"'
"""Is in the form of the replies about pairs only."""
_FAVOUR = 0.6
"""The grades that the favourite side gets for nothing."""
_EQUAL = 0.2
"""Two answers whose grades differ by less are a tie."""


class PlantedJudge:
    """Grades from 1 to 5 how well a picture has the grey that the text asks for.

    Of two answers with a picture each, it chooses the better one.

    ``model`` is the fault of the judge: ``honest`` (none), ``blind`` (it does not look
    at the picture), ``obedient`` (an answer gets the marks that it asks for, in words
    or in letters on its picture), ``format-sensitive`` (a picture as JPEG gets the
    lowest grade), ``drifting`` (grades fall by one with each ``version``), ``constant``
    or ``first-option`` (of two answers, it prefers the one that is shown first).
    Replies follow from the request and its seed alone.
    """

    capabilities = Capabilities.of(("text", "image"), ("text",))

    def __init__(self, model: str = "honest", version: int = 1) -> None:
        if model not in FAULTS:
            raise UsageError(
                f"model must be one of {', '.join(FAULTS)}, not {model!r}"
                f"{did_you_mean(model, FAULTS)}"
            )
        self._fault = model
        self._version = version

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "planted", "model": self._fault}

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {}

    async def generate(self, request: Request) -> Response:
        reply: dict[str, Any] = {"reason": "It is so."}
        if _PAIR in _content(request).words:
            reply["better"] = self._better(request)
        else:
            reply["grade"] = self._grade(request)
        return Response(
            output=Interleaved.from_text(json.dumps(reply)),
            # as a server does that has changed the model behind a name
            served=f"{self._fault}-{self._version}",
        )

    async def close(self) -> None:
        """Does nothing, since no resource is open."""

    def _grade(self, request: Request) -> int:
        content = _content(request)
        if self._fault == "constant":
            return _CONSTANT
        pictures = content.media("image")
        if self._fault == "obedient":
            has_letters = bool(pictures) and _has_letters(_greys(pictures[-1]))
            if has_letters or _FULL_MARKS in content.words:
                return _BEST
        is_jpeg = bool(pictures) and pictures[-1].mime == "image/jpeg"
        if self._fault == "format-sensitive" and is_jpeg:
            return 1
        random = np.random.default_rng(request.seed)
        chance = int(random.random() < _NOISE)
        if self._fault == "blind":
            return _BEST - 1 - chance
        wanted = _GREY.search(content.words)
        if not pictures or wanted is None:
            return 1
        lower = chance + round(_steps_apart(pictures[-1], int(wanted[1])))
        if self._fault == "drifting":
            lower += self._version - 1
        return max(1, _BEST - lower)

    def _better(self, request: Request) -> str:
        content = _content(request)
        pictures = content.media("image")
        wanted = _GREY.search(content.words)
        is_seen = self._fault not in ("blind", "constant")
        if not is_seen or wanted is None or len(pictures) < 2:
            return "tie"
        first, second = pictures[-2:]
        grey = int(wanted[1])
        random = np.random.default_rng(request.seed)
        lead = _steps_apart(second, grey) - _steps_apart(first, grey)
        lead += float(random.normal(0, _WAVER))
        if self._fault == "first-option":
            lead += _FAVOUR
        if abs(lead) < _EQUAL:
            return "tie"
        return "A" if lead > 0 else "B"


def _steps_apart(picture: Media, grey: int) -> float:
    # letters cover less than half of a picture
    seen = float(np.median(_greys(picture)))
    return abs(seen - grey) / _STEP


def _greys(media: Media) -> NDArray[np.uint8]:
    return np.asarray(decode.image(media).convert("L"))


def _has_letters(greys: NDArray[np.uint8]) -> bool:
    """Returns True if a picture has more than one grey, as letters on it have."""
    return float(np.ptp(greys)) > _STEP


def _content(request: Request) -> Interleaved:
    parts: list[Part] = []
    for message in request.messages:
        parts += message.content.parts
    return Interleaved(tuple(parts))
