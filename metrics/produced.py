"""What a model produced: the media of one kind in its answer, and the score of an answer that has not what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mmeval.content import Interleaved, Media, PartKind
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.records import Score, Trial

T = TypeVar("T")


def media_of(content: Interleaved, kind: PartKind) -> tuple[Media, ...]:
    """The media of a kind in order. One that a text names twice by the same number is one medium."""
    found: dict[tuple[str, object], Media] = {}
    for at, part in enumerate(content.parts):
        if part.kind == kind and part.media is not None:
            numbered = part.label[-1:].isdigit()
            found.setdefault((part.label, part.media.sha256) if numbered else ("", at), part.media)
    return tuple(found.values())


def the_only_medium(trial: Trial, kind: PartKind, called: str) -> Media | Score:
    """The medium of an answer that has exactly one of a kind, not decoded, or the score of one that has not: 0, with
    the reason, in which several are ``called`` so. Without an answer the trial is unscored."""
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    found = media_of(trial.output, kind)
    return found[0] if len(found) == 1 else wrong(f"the answer has {len(found)} {called}, not exactly one")


def decoded(media: Media, decode: Callable[[Media], T]) -> T | Score:
    """What a medium of the answer decodes to, or its score.

    One that is damaged, or none at all, is a wrong answer: 0. One above the limits is unscored: nobody has looked at
    it.
    """
    try:
        return decode(media)
    except CorruptMediaError as error:
        media.read()  # raises, where it is another file than the one that was produced
        return wrong(str(error))
    except MediaLimitError as error:
        return Score.unscored(str(error))


def wrong(reason: str, **evidence: object) -> Score:
    """The score 0 of an answer that cannot be measured, which is its own fault."""
    return Score(0.0, evidence={"reason": reason, **evidence})
