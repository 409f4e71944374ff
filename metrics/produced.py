"""An answer's media of one kind, and the scores of answers without usable ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Interleaved, Media, Part, PartKind
from mmeval.records import Score, Trial

T = TypeVar("T")
Missing = Literal["zero", "dropped"]
"""A switch: an answer without the required media counts 0, or is inapplicable."""


def media_of(content: Interleaved, kind: PartKind) -> tuple[Media, ...]:
    """Returns the media of a kind in order.

    A medium named twice by one number counts once.
    """
    media: list[Media] = []
    for _, part in labelled(content, kind):
        if part.media is not None:
            media.append(part.media)
    return tuple(media)


def labelled(content: Interleaved, kind: PartKind) -> list[tuple[str, Part]]:
    """The parts of a kind in order, labelled by tag or else by position (``image1``).

    A part named twice by one number counts once. A tag without a file is a part too,
    unless another part has its number.
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
    """Returns an answer's only medium of a kind, not decoded, or a score.

    The score of another number of media is 0, with the reason, in which ``called`` is
    the plural. Without an answer it is unscored.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    media = media_of(trial.output, kind)
    if len(media) == 1:
        return media[0]
    return wrong(f"the answer has {len(media)} {called}, not exactly one")


def decoded(media: Media, decode: Callable[[Media], T]) -> T | Score:
    """Returns a decoded medium of the answer, or its score.

    A damaged medium is a wrong answer: 0. One that is unsupported, or above the limits,
    is unscored, since its content is unknown.
    """
    try:
        return decode(media)
    except ContentError as error:
        return undecodable(media, error)


def undecodable(media: Media, error: ContentError) -> Score:
    """The score of an answer whose medium cannot be decoded, as in ``decoded``."""
    if not isinstance(error, CorruptMediaError):
        return Score.unscored(str(error))
    media.read()  # raises if the file differs from the one that was produced
    return wrong(str(error))


def wrong(reason: str, **evidence: object) -> Score:
    """The score 0 of an answer that cannot be measured because of its own fault."""
    return Score(0.0, evidence={"reason": reason, **evidence})


def counted(score: Score, missing: Missing) -> Score:
    """Returns the score under the switch ``missing``.

    With ``dropped`` the score of an answer at fault (``wrong``) is inapplicable.
    """
    if missing == "dropped" and score.value == 0 and "reason" in score.evidence:
        return Score.inapplicable(str(score.evidence["reason"]))
    return score
