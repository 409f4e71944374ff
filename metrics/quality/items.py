"""Items of an answer, scored one by one by the metrics of quality.

Each of those metrics scores the items of one kind: the answer's pictures, its sounds,
its text. Its value is their mean, and its evidence holds the quality of each, from
which :mod:`unim_gq` takes the mean over all kinds.
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
"""Keys of the evidence: the items in order; for each its quality (null: none), its
name, the reason, and whether it is left out because its scorer is unavailable."""
UNSEEN = "the answer names it, and no file came with it"
Rounding: TypeAlias = Literal["none", "released"]
"""Whether a quality is exact, or :func:`in_released_digits`."""
Unreadable: TypeAlias = Literal["zero", "unscored"]
"""What a missing or damaged item counts: 0; or nothing, so that its answer is unscored
as in the released scripts. The switch ``unreadable`` of each metric of quality."""


class Item(NamedTuple):
    """A file that the answer names or holds; ``media`` is None where it is only
    named."""

    label: str
    media: Media | None


@dataclass(frozen=True)
class ItemScore:
    """The quality of one item from 0 to 1 with its terms, or None with the reason.
    ``cause`` is that of a ``Score``."""

    quality: float | None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    cause: Cause = "final"
    left_out: bool = False

    @classmethod
    def none(cls, reason: str, *, cause: Cause = "final", **evidence: Any) -> ItemScore:
        """An item without a quality, and why."""
        return cls(None, evidence, reason, cause)

    @classmethod
    def unavailable(cls, reason: str) -> ItemScore:
        """An item whose scorer is unavailable, and why: it is in no mean."""
        return cls(None, reason=reason, left_out=True)

    def to_json(self, label: str) -> dict[str, Any]:
        """The item's name, quality and terms for the evidence."""
        entry: dict[str, Any] = {LABEL: label, QUALITY: self.quality}
        if self.reason:
            entry[REASON] = self.reason
        if self.left_out:
            entry[LEFT_OUT] = True
        return entry | dict(self.evidence)


def items_of(content: Interleaved, kind: PartKind) -> tuple[Item, ...]:
    """The items of a kind, as ``labelled`` gives them."""
    return tuple(Item(label, part.media) for label, part in labelled(content, kind))


def quality_of_media(
    trial: Trial,
    kind: PartKind,
    measure: Callable[[Media], ItemScore],
    *,
    unreadable: Unreadable = "zero",
) -> Score:
    """The mean quality of items of a kind, measured alone; inapplicable without any.

    A file that is missing or damaged is an item of quality 0, or, where ``unreadable``
    is ``unscored``, one without a quality. One that is not read here, or is above the
    limits of decoding, never has one, since nobody knows what it shows.
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
                # raises where the file is not the one that was produced
                item.media.read()
                score = unreadable_item(str(error), unreadable)
            except ContentError as error:
                score = ItemScore.none(str(error))
        scored.append((item.label, score))
    return together(scored)


def in_released_digits(quality: float) -> float:
    """A quality rounded as in the released scorers: out of 100, with two decimals."""
    return round(round(100 * quality, 2) / 100, 4)


def nothing_of(kind: PartKind) -> Score:
    """The score of an answer without an item of a kind."""
    return Score.inapplicable(f"the answer has no {kind} to look at")


def unreadable_item(reason: str, unreadable: Unreadable) -> ItemScore:
    """The score of an item that cannot be opened."""
    if unreadable == "zero":
        return ItemScore(0.0, reason=reason)
    return ItemScore.none(reason)


def together(scored: Sequence[tuple[str, ItemScore]]) -> Score:
    """The mean over items with their labels. Unavailable items are left out (if all
    are: unavailable). While another is unknown it is unscored, with bounds."""
    evidence = {ITEMS: [one.to_json(label) for label, one in scored]}
    counted = [(label, one) for label, one in scored if not one.left_out]
    if not counted:
        return Score(status="unavailable", reason=_reasons(scored), evidence=evidence)
    known = sum(one.quality for _, one in counted if one.quality is not None)
    unknown = [(label, one) for label, one in counted if one.quality is None]
    low = known / len(counted)
    if not unknown:
        return Score(low, evidence=evidence)
    return Score(
        status="unscored",
        reason=_reasons(unknown),
        evidence=evidence,
        bounds=(low, (known + len(unknown)) / len(counted)),
        cause=min((one.cause for _, one in unknown), key=CAUSES.index),
    )


def _reasons(scored: Sequence[tuple[str, ItemScore]]) -> str:
    return "; ".join(f"{label}: {one.reason}" for label, one in scored)
