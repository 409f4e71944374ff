"""Scores the items of an answer one by one, for the quality metrics.

Each metric scores the items of one kind, such as the answer's pictures. The metric's
value is the mean of these scores, and its evidence contains the quality of each item.
:mod:`unim_gq` computes the mean over all kinds from this evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Interleaved, Media, PartKind
from mmeval.metrics.produced import labelled
from mmeval.records import CAUSES, Cause, Score, Trial

ITEMS = "items"
QUALITY = "quality"
LABEL = "label"
REASON = "reason"
LEFT_OUT = "left_out"
"""Keys of the evidence: the items in order, and for each item its quality (or null),
its name, the reason for a null, and true if the item is left out because its scorer is
unavailable."""
UNSEEN = "the answer names it, but its file is missing"
Rounding: TypeAlias = Literal["none", "released"]
"""The rounding of a quality: exact, or as :func:`in_released_digits` does."""
Unreadable: TypeAlias = Literal["zero", "unscored"]
"""The switch ``unreadable`` of each quality metric. A missing or damaged item gets the
quality 0, or its answer is unscored as in the released scripts."""


class AnswerItem(NamedTuple):
    """A file that the answer contains or names.

    ``media`` is None if the answer only names the file.
    """

    label: str
    media: Media | None


@dataclass(frozen=True)
class ItemScore:
    """The quality of an item from 0 to 1 with its terms, or None with the reason.

    ``cause`` means the same as in a ``Score``.
    """

    quality: float | None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    cause: Cause = "final"
    left_out: bool = False

    @classmethod
    def none(cls, reason: str, *, cause: Cause = "final", **evidence: Any) -> ItemScore:
        """Returns the score of an item without a quality."""
        return cls(None, evidence, reason, cause)

    @classmethod
    def unavailable(cls, reason: str) -> ItemScore:
        """Returns the score of an item whose scorer is unavailable.

        The item is left out of every mean.
        """
        return cls(None, reason=reason, left_out=True)

    def to_json(self, label: str) -> dict[str, Any]:
        """Returns the item's name, quality and terms for the evidence."""
        entry: dict[str, Any] = {LABEL: label, QUALITY: self.quality}
        if self.reason:
            entry[REASON] = self.reason
        if self.left_out:
            entry[LEFT_OUT] = True
        return entry | dict(self.evidence)


def items_of(content: Interleaved, kind: PartKind) -> tuple[AnswerItem, ...]:
    """Returns the items of a kind, in the order of ``labelled``."""
    return tuple(
        AnswerItem(label, part.media) for label, part in labelled(content, kind)
    )


def quality_of_media(
    trial: Trial,
    kind: PartKind,
    measure: Callable[[Media], ItemScore],
    *,
    unreadable: Unreadable = "zero",
) -> Score:
    """Computes the mean quality of the items of a kind.

    The score is inapplicable without such items.

    A file that is missing or damaged gets the quality 0, or no quality if
    ``unreadable`` is ``unscored``. A file that is unsupported, or that exceeds the
    limits of decoding, never gets a quality, since its content is unknown.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    items = items_of(trial.output, kind)
    if not items:
        return nothing_of(kind)
    scored: list[tuple[str, ItemScore]] = []
    for item in items:
        if item.media is None:
            score = unreadable_item(UNSEEN, unreadable)
        else:
            try:
                score = measure(item.media)
            except CorruptMediaError as error:
                # This raises an error if the file is not the one that was produced.
                item.media.read()
                score = unreadable_item(str(error), unreadable)
            except ContentError as error:
                score = ItemScore.none(str(error))
        scored.append((item.label, score))
    return together(scored)


def in_released_digits(quality: float) -> float:
    """Rounds a quality to hundredths of a percent, as the released scorers do."""
    return round(round(100 * quality, 2) / 100, 4)


def nothing_of(kind: PartKind) -> Score:
    """Returns the score of an answer without an item of a kind."""
    return Score.inapplicable(f"the answer has no {kind}")


def unreadable_item(reason: str, unreadable: Unreadable) -> ItemScore:
    """Returns the score of an item that cannot be opened."""
    if unreadable == "zero":
        return ItemScore(0.0, reason=reason)
    return ItemScore.none(reason)


def together(scored: Sequence[tuple[str, ItemScore]]) -> Score:
    """Computes the mean over labelled items.

    Unavailable items are left out. The score is unavailable if all items are
    unavailable. The score is unscored, with bounds, if an item has no quality for
    another reason.
    """
    evidence = {ITEMS: [score.to_json(label) for label, score in scored]}
    counted = [(label, score) for label, score in scored if not score.left_out]
    if not counted:
        return Score(status="unavailable", reason=_reasons(scored), evidence=evidence)
    total = sum(score.quality for _, score in counted if score.quality is not None)
    unknown = [(label, score) for label, score in counted if score.quality is None]
    low = total / len(counted)
    if not unknown:
        return Score(low, evidence=evidence)
    return Score(
        status="unscored",
        reason=_reasons(unknown),
        evidence=evidence,
        bounds=(low, (total + len(unknown)) / len(counted)),
        cause=min((score.cause for _, score in unknown), key=CAUSES.index),
    )


def _reasons(scored: Sequence[tuple[str, ItemScore]]) -> str:
    return "; ".join(f"{label}: {score.reason}" for label, score in scored)
