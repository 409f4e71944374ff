"""Finds an answer's media of one kind, and scores answers without usable media."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Interleaved, Media, Part, PartKind
from mmeval.records import Score, Trial

T = TypeVar("T")
Missing = Literal["zero", "dropped"]
"""A switch: an answer without the required media scores 0, or it is inapplicable."""


def media_of(content: Interleaved, kind: PartKind) -> tuple[Media, ...]:
    """Returns the media of one kind in order.

    A medium that appears twice with the same number counts once.
    """
    media: list[Media] = []
    for _, part in labelled(content, kind):
        if part.media is not None:
            media.append(part.media)
    return tuple(media)


def labelled(content: Interleaved, kind: PartKind) -> list[tuple[str, Part]]:
    """Returns the parts of one kind in order, with their labels.

    A label is the part's tag. If a part has no tag, its label is made from its position
    (``image1``). A part that appears twice with the same number counts once. A tag
    without a file is also a part, unless another part has the tag's number.
    """
    parts: dict[tuple[str, str], tuple[str, Part]] = {}
    for position, part in enumerate(content.parts):
        if part.kind != kind:
            continue
        if part.label[-1:].isdigit():
            body = part.media.sha256 if part.media is not None else part.text or ""
            parts.setdefault((part.label, body), (part.label, part))
        else:
            parts["", str(position)] = f"{kind}{len(parts) + 1}", part
    complete = {label for label, part in parts.values() if not part.dangling}
    result: list[tuple[str, Part]] = []
    for label, part in parts.values():
        if not part.dangling or label not in complete:
            result.append((label, part))
    return result


def the_only_medium(
    trial: Trial,
    kind: PartKind,
    called: str,
) -> Media | Score:
    """Returns an answer's only medium of one kind, or the answer's score.

    The medium is not decoded. An answer with another number of media scores 0.
    ``called`` is the plural noun for the media in the reason. The trial is unscored
    without an answer.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    media = media_of(trial.output, kind)
    if len(media) == 1:
        return media[0]
    return wrong(f"the answer has {len(media)} {called}, not exactly one")


def decoded(media: Media, decode: Callable[[Media], T]) -> T | Score:
    """Decodes a medium in the answer, or returns the answer's score.

    A damaged medium scores 0, like a wrong answer. The answer is unscored if the medium
    is unsupported or exceeds the limits, since the medium's content is unknown.
    """
    try:
        return decode(media)
    except ContentError as error:
        return undecodable(media, error)


def undecodable(media: Media, error: ContentError) -> Score:
    """Scores an answer with a medium that cannot be decoded, as in ``decoded``."""
    if not isinstance(error, CorruptMediaError):
        return Score.unscored(str(error))
    media.read()  # raises if the file has changed since it was produced
    return wrong(str(error))


def wrong(reason: str, **evidence: object) -> Score:
    """Returns the score 0 for an answer that is at fault and cannot be measured."""
    return Score(0.0, evidence={"reason": reason, **evidence})


def counted(score: Score, missing: Missing) -> Score:
    """Applies the switch ``missing`` to a score.

    With ``dropped``, the score 0 of an answer at fault (``wrong``) becomes
    inapplicable.
    """
    if missing == "dropped" and score.value == 0 and "reason" in score.evidence:
        return Score.inapplicable(str(score.evidence["reason"]))
    return score
