"""The media of one kind in an answer, and the score of an answer without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Interleaved, Media, Part, PartKind
from mmeval.records import Score, Trial

T = TypeVar("T")
Missing = Literal["zero", "dropped"]
"""A switch: an answer without the media that it should have counts 0, or stands in no
mean."""


def media_of(content: Interleaved, kind: PartKind) -> tuple[Media, ...]:
    """The media of a kind in order; those named twice by the same number count once."""
    found: list[Media] = []
    for _, part in labelled(content, kind):
        if part.media is not None:
            found.append(part.media)
    return tuple(found)


def labelled(content: Interleaved, kind: PartKind) -> list[tuple[str, Part]]:
    """The parts of a kind in order, by the number of their tag or else by place
    (``image1``). One named twice by the same number counts once; a tag alone is a part,
    too, unless there is one with its number."""
    found: dict[tuple[str, str], tuple[str, Part]] = {}
    for at, part in enumerate(content.parts):
        if part.kind != kind:
            continue
        if part.label[-1:].isdigit():
            body = part.media.sha256 if part.media is not None else part.text or ""
            found.setdefault((part.label, body), (part.label, part))
        else:
            found["", str(at)] = f"{kind}{len(found) + 1}", part
    whole = {label for label, part in found.values() if not part.dangling}
    kept: list[tuple[str, Part]] = []
    for label, part in found.values():
        if not part.dangling or label not in whole:
            kept.append((label, part))
    return kept


def the_only_medium(
    trial: Trial,
    kind: PartKind,
    called: str,
) -> Media | Score:
    """An answer's medium, not decoded, if it has exactly one of a kind; else a score:
    0 with the reason, where ``called`` is the plural; unscored without an answer."""
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    found = media_of(trial.output, kind)
    if len(found) == 1:
        return found[0]
    return wrong(f"the answer has {len(found)} {called}, not exactly one")


def decoded(media: Media, decode: Callable[[Media], T]) -> T | Score:
    """A decoded medium of the answer, or its score.

    A damaged medium is a wrong answer: 0. One that is not read here, or is above the
    limits, is unscored, since nobody knows what it shows.
    """
    try:
        return decode(media)
    except ContentError as error:
        return undecodable(media, error)


def undecodable(media: Media, error: ContentError) -> Score:
    """The score of an answer whose medium cannot be decoded, as ``decoded`` gives
    it."""
    if not isinstance(error, CorruptMediaError):
        return Score.unscored(str(error))
    media.read()  # raises where the file is not the one that was produced
    return wrong(str(error))


def wrong(reason: str, **evidence: object) -> Score:
    """The score 0 of an answer that cannot be measured by its own fault."""
    return Score(0.0, evidence={"reason": reason, **evidence})


def counted(score: Score, missing: Missing) -> Score:
    """A score by the switch: that of an answer at fault (``wrong``) is inapplicable
    where it is dropped."""
    if missing == "dropped" and score.value == 0 and "reason" in score.evidence:
        return Score.inapplicable(str(score.evidence["reason"]))
    return score
