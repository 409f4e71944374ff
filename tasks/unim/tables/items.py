"""The items of a run's answers by modality: how many there are, and how well they are made.

The quality of an answer (GQ) is a mean over all of its items. Here each modality stands by itself, so that one sees
what a model makes well. Items are read from the evidence of the metrics of quality; an answer that the rule for a
missing output has scored 0 holds none.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mmeval.metrics.quality.items import ITEMS, LEFT_OUT, QUALITY
from mmeval.metrics.quality.unim_gq import WITHOUT

TITLES: Mapping[str, str] = {
    "text_quality": "text",
    "code_quality": "code",
    "document_quality": "document",
    "image_quality": "image",
    "audio_quality": "audio",
    "quality_3d": "3D",
    "video_quality": "video",
}
"""Modalities by the number that looks at them."""


class Items(NamedTuple):
    """Items of some answers: how many answers have some, how many items have a quality, the sum of these, how many have
    none, and how many are left out because nothing here can look at them."""

    answers: int = 0
    known: int = 0
    total: float = 0.0
    unscored: int = 0
    left_out: int = 0

    def plus(self, other: Items) -> Items:
        return Items(
            self.answers + other.answers,
            self.known + other.known,
            self.total + other.total,
            self.unscored + other.unscored,
            self.left_out + other.left_out,
        )

    @property
    def mean(self) -> float | None:
        return self.total / self.known if self.known else None


@dataclass
class _Column:
    """The items of one modality: of each answer that has some its place, and what ``Items`` has of it."""

    trials: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    totals: array[float] = field(default_factory=lambda: array("d"))

    def add(self, trial: int, items: Items) -> None:
        self.trials.append(trial)
        self.counts.extend((items.known, items.unscored, items.left_out))
        self.totals.append(items.total)

    def __iter__(self) -> Iterator[tuple[int, Items]]:
        for at, trial in enumerate(self.trials):
            known, unscored, left_out = self.counts[3 * at : 3 * at + 3]
            yield trial, Items(1, known, self.totals[at], unscored, left_out)


@dataclass
class ItemPool:
    """The items of all answers, a few bytes for each answer and modality.

    ``partial`` counts the answers whose GQ goes without a piece, by the piece, ``partial_answers`` those that go
    without any; ``unavailable`` are the numbers that nothing here gives of any answer.
    """

    columns: dict[str, _Column] = field(default_factory=dict)
    partial: Counter[str] = field(default_factory=Counter)
    partial_answers: int = 0
    unavailable: dict[str, None] = field(default_factory=dict)
    _seen: bytearray = field(default_factory=bytearray)

    def add(self, trial: int, scores: Mapping[str, Mapping[str, Any]], given: Mapping[str, str], gq: str) -> None:
        """The scores of an answer; of one that several tasks have, the first that hold items count. ``given`` has the
        numbers of its task, with why one is not counted where it is not; ``gq`` is the number that pools the items."""
        self._seen.extend(bytes(max(0, trial + 1 - len(self._seen))))
        if self._seen[trial]:
            return
        found = {name: scores[name] for name in TITLES if name in scores and given.get(name) == ""}
        self.unavailable |= {name: None for name, score in found.items() if score["status"] == "unavailable"}
        listed = {name: items for name, score in found.items() if (items := _items(score))}
        for name, items in listed.items():
            self.columns.setdefault(name, _Column()).add(trial, items)
        without = [str(piece) for piece in scores.get(gq, {}).get("evidence", {}).get(WITHOUT, ())]
        self.partial.update(without)
        self.partial_answers += bool(without)
        self._seen[trial] = bool(listed or without)

    def sums(self, name: str, groups: Iterable[int], many: int) -> list[Items]:
        """The items of one modality in each of ``many`` groups; ``groups`` has the group of each trial (-1: none)."""
        own = list(groups)
        found = [Items()] * many
        for trial, items in self.columns.get(name, ()):
            if own[trial] >= 0:
                found[own[trial]] = found[own[trial]].plus(items)
        return found


def _items(score: Mapping[str, Any]) -> Items | None:
    """What the evidence of a score says of items; None where it holds none."""
    listed = score.get("evidence", {}).get(ITEMS)
    if not isinstance(listed, list) or not listed:
        return None
    counted = [item for item in listed if not item.get(LEFT_OUT)]
    known = [float(item[QUALITY]) for item in counted if item.get(QUALITY) is not None]
    return Items(1, len(known), sum(known), len(counted) - len(known), len(listed) - len(counted))
