"""Counts the items in a run's answers by modality, and averages their qualities.

The quality of an answer (GQ) is the mean over all its items. Here each modality is
averaged separately, to show where a model is good. Items are read from the evidence of
the quality metrics. An answer that scores 0 because its output is missing has no items.
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
"""The name of the modality that each number scores, by the number's name."""


class Items(NamedTuple):
    """Counts of the items in a set of answers, with the sum of their qualities.

    The fields are the number of answers with items, the number of items with a quality,
    the sum of these qualities, and the numbers of unscored and unavailable items.
    """

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
    """The items of all answers, by modality and index of the trial.

    For each modality, ``partial`` counts the answers whose GQ lacks this modality.
    ``partial_answers`` counts the answers whose GQ lacks any modality. ``unavailable``
    contains the numbers that cannot be computed on this machine.
    """

    columns: dict[str, dict[int, Items]] = field(default_factory=dict)
    partial: Counter[str] = field(default_factory=Counter)
    partial_answers: int = 0
    unavailable: dict[str, None] = field(default_factory=dict)
    _is_added: bytearray = field(default_factory=bytearray)

    def add(
        self,
        trial: int,
        scores: Mapping[str, Mapping[str, Any]],
        exclusions: Mapping[str, str],
        gq: str,
    ) -> None:
        """Adds the items in the scores of an answer.

        If several tasks contain the answer, only the first task with items is used.
        ``exclusions`` maps each number of the task to the reason why it does not count,
        or to an empty string. ``gq`` is the number that pools items.
        """
        new = trial + 1 - len(self._is_added)
        self._is_added.extend(bytes(max(0, new)))
        if self._is_added[trial]:
            return
        for name in TITLES:
            if name not in scores or exclusions.get(name) != "":
                continue
            score = scores[name]
            if score["status"] == "unavailable":
                self.unavailable[name] = None
            listed = score.get("evidence", {}).get(ITEMS)
            if not isinstance(listed, list) or not listed:
                continue
            counted = [item for item in listed if not item.get(LEFT_OUT)]
            qualities = [item.get(QUALITY) for item in counted]
            known_qualities = [
                float(quality) for quality in qualities if quality is not None
            ]
            self.columns.setdefault(name, {})[trial] = Items(
                answers=1,
                known=len(known_qualities),
                total=sum(known_qualities),
                unscored=len(counted) - len(known_qualities),
                left_out=len(listed) - len(counted),
            )
            self._is_added[trial] = True
        evidence = scores.get(gq, {}).get("evidence", {})
        missing = evidence.get(WITHOUT, ())
        if missing:
            self.partial.update(map(str, missing))
            self.partial_answers += 1
            self._is_added[trial] = True

    def sums(
        self,
        name: str,
        groups: Iterable[int],
        count: int,
    ) -> list[Items]:
        """Adds up the items of a modality in each of ``count`` groups.

        ``groups`` contains the group of each trial, or -1 if it has none.
        """
        group_of_trial = list(groups)
        sums = [Items()] * count
        for trial, items in self.columns.get(name, {}).items():
            if group_of_trial[trial] >= 0:
                sums[group_of_trial[trial]] = sums[group_of_trial[trial]].plus(items)
        return sums
