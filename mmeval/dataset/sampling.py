"""Chooses samples when only some are asked, by rank or by strata.

A draw is an order over the whole data set that the seed decides; ``--limit`` takes its beginning. A larger limit
therefore asks all that a smaller one has asked, and its answers are kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from mmeval.errors import UsageError
from mmeval.records.sample import Sample

FEWER = "data"
"""In ``Subset.how``: no flag left samples out, the data hold fewer than the task file expects."""
_NAMED_LABELS = 20
"""Labels that a message lists."""


@dataclass(frozen=True)
class Subset:
    """The part of a task's samples behind its numbers.

    ``of`` is the number of samples that the task has; None where a filter chooses and they were not counted. ``how``
    names the flags that chose: ``limit``, ``offset``, ``samples``, ``shuffle``, ``stratify``; and ``data`` where the
    data themselves hold fewer than they should, so that ``of`` is the number that the task file expects.
    """

    of: int | None
    chosen: int
    how: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether samples were left out, as far as that is known."""
        return self.of is None or self.chosen < self.of

    @property
    def note(self) -> str:
        """The subset in a table: ``subset: 3,000 of 31,026``; empty without one."""
        if not self.partial:
            return ""
        return f"subset: {self.chosen:,}" if self.of is None else f"subset: {self.chosen:,} of {self.of:,}"

    def to_json(self) -> dict[str, Any]:
        return {"of": self.of, "chosen": self.chosen, "how": list(self.how)}


@dataclass(frozen=True)
class Draw:
    """How samples are drawn: by a seed, and in proportion to the values of labels."""

    seed: int = 0
    labels: tuple[str, ...] = ()

    def order(self, samples: Iterable[tuple[int, Sample]]) -> array[int]:
        """The indices of all samples in the order of the draw.

        Without labels that is the order of their hashes. With labels, the samples that share the values of all labels
        (a missing one is a value too) are a stratum: ranked by hash, the one of rank r among n stands at (r + 0.5) / n.
        Up to any position p each stratum has given n * p samples, rounded, so every beginning of the order is
        proportional. Ties go by hash.

        A sample is known by its id: its hash does not change when others are added. One pass; about a hundred bytes a
        sample while it is drawn, eight afterwards. Raises UsageError for a label that no sample has.
        """
        indices, hashes, strata = array("q"), array("Q"), array("l")
        numbers: dict[str, int] = {}
        missing = _Missing(self.labels)
        for index, sample in samples:
            missing.see(sample.metadata)
            values = repr([sample.metadata.get(label) for label in self.labels])
            indices.append(index)
            hashes.append(self._hash(sample.id))
            strata.append(numbers.setdefault(values, len(numbers)))
        missing.check()
        order = sorted(range(len(indices)), key=hashes.__getitem__)
        if self.labels:
            order.sort(key=_positions(order, strata).__getitem__)  # stable: equal positions stay in the order of hashes
        return array("q", map(indices.__getitem__, order))

    def _hash(self, name: str) -> int:
        text = f"{self.seed}:{name}".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8).digest())


def _positions(order: Iterable[int], strata: array[int]) -> array[float]:
    """The position of each sample in its stratum, in (0, 1), by their ``order``."""
    sizes, ranks = Counter(strata), Counter[int]()
    positions = array("d", bytes(8 * len(strata)))
    for place in order:
        stratum = strata[place]
        positions[place] = (ranks[stratum] + 0.5) / sizes[stratum]
        ranks[stratum] += 1
    return positions


class _Missing:
    """Labels that no sample has had so far."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._left = set(labels)
        self._known: dict[str, None] = {}

    def see(self, metadata: Mapping[str, Any]) -> None:
        if self._left:
            self._left.difference_update(metadata)
            self._known.update(dict.fromkeys(metadata))

    def check(self) -> None:
        if not self._left:
            return
        known = sorted(self._known)
        listed = ", ".join(known[:_NAMED_LABELS]) + (", ..." if len(known) > _NAMED_LABELS else "")
        raise UsageError(
            f"--stratify: no sample has the label {' or '.join(map(repr, sorted(self._left)))}; "
            f"the labels are: {listed or 'none at all'}"
        )
