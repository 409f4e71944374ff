"""Claims: what an answer says of its one picture, before a judge is asked whether it is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from mmeval.content import Interleaved, Media, text_part
from mmeval.metric import Supposed
from mmeval.metrics.judged.pictures.looked_at import only_picture
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, words_beside
from mmeval.records import Score, Trial

T = TypeVar("T")

OFFICIAL_CLAIMS = {"statements": "official"}
"""The switches of the profile ``official``, besides those of replies."""


def supposing(words: Callable[[Trial, Mapping[str, Any]], str]) -> Supposed:
    """For ``@metric(supposed=...)``: the answer with words beside it, of a trial and the switches, that claim something
    which can be judged."""

    def supposed(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
        parts = () if trial.output is None else trial.output.parts
        return Interleaved((*parts, text_part(words(trial, switches))))

    return supposed


class Claim(NamedTuple):
    """A picture and what the answer says of it (``Any``: a number, a list, whatever the parser reads)."""

    picture: Media
    says: Any


def claim_of(trial: Trial, statements: Statements, parse: Callable[[str], T | None]) -> Claim | Score:
    """The claim of an answer with exactly one picture in one place, or the score of one without: 0, with the reason;
    unscored without an answer."""
    picture = only_picture(trial)
    if isinstance(picture, Score):
        return picture
    assert trial.output is not None  # there is a picture in it
    words = words_beside(trial.output, statements)
    if words is None:
        return wrong("the answer has not exactly one place for its picture")
    says = parse(words)
    if says is None:
        return wrong("the answer does not say it in the form that was asked for")
    return Claim(picture, says)
