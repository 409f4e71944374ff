"""The items of a run's answers by modality: their number and their quality.

The quality of an answer (GQ) is a mean over all of its items. Here each modality is
separate, to show what a model makes well. Items are read from the evidence of the
metrics of quality; an answer that is scored 0 for a missing output has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
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
"""Modalities by the number that scores them."""


class Items(NamedTuple):
    """The items of some answers: counts and the sum of qualities. Counted are answers
    with items, items with a quality, items without one, and unavailable items."""

    answers: int = 0
    known: int = 0
    total: float = 0.0
    unscored: int = 0
    left_out: int = 0

    def plus(self, other: Items) -> Items:
        return Items(*map(sum, zip(self, other, strict=True)))  # type: ignore[arg-type]  # the counts stay whole

    @property
    def mean(self) -> float | None:
        return self.total / self.known if self.known else None


@dataclass
class ItemPool:
    """The items of all answers, by modality and the number of the trial.

    ``partial`` counts the answers whose GQ lacks a piece, by piece, ``partial_answers``
    those that lack any; ``unavailable`` are the numbers that no answer has here.
    """

    columns: dict[str, dict[int, Items]] = field(default_factory=dict)
    partial: Counter[str] = field(default_factory=Counter)
    partial_answers: int = 0
    unavailable: dict[str, None] = field(default_factory=dict)
    _seen: bytearray = field(default_factory=bytearray)

    def add(
        self,
        trial: int,
        scores: Mapping[str, Mapping[str, Any]],
        given: Mapping[str, str],
        gq: str,
    ) -> None:
        """Add an answer's scores; of several tasks with it, the first with items
        counts. ``given``: its task's numbers, with reasons where they do not count;
        ``gq``: the number that pools items."""
        new = trial + 1 - len(self._seen)
        self._seen.extend(bytes(max(0, new)))
        if self._seen[trial]:
            return
        for name in TITLES:
            if name not in scores or given.get(name) != "":
                continue
            score = scores[name]
            if score["status"] == "unavailable":
                self.unavailable[name] = None
            listed = score.get("evidence", {}).get(ITEMS)
            if not isinstance(listed, list) or not listed:
                continue
            counted = [item for item in listed if not item.get(LEFT_OUT)]
            qualities = [item.get(QUALITY) for item in counted]
            known = [float(quality) for quality in qualities if quality is not None]
            self.columns.setdefault(name, {})[trial] = Items(
                answers=1,
                known=len(known),
                total=sum(known),
                unscored=len(counted) - len(known),
                left_out=len(listed) - len(counted),
            )
            self._seen[trial] = True
        evidence = scores.get(gq, {}).get("evidence", {})
        without = evidence.get(WITHOUT, ())
        if without:
            self.partial.update(map(str, without))
            self.partial_answers += 1
            self._seen[trial] = True

    def sums(
        self,
        name: str,
        groups: Iterable[int],
        many: int,
    ) -> list[Items]:
        """A modality's items in ``many`` groups; ``groups`` has each trial's (-1:
        none)."""
        own = list(groups)
        found = [Items()] * many
        for trial, items in self.columns.get(name, {}).items():
            if own[trial] >= 0:
                found[own[trial]] = found[own[trial]].plus(items)
        return found
