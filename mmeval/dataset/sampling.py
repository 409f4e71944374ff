"""Chooses a subset of samples, by rank or by strata.

A draw orders the whole data set by a seed; ``--limit`` takes the start of the order. A
larger limit therefore includes the samples of a smaller one, and their answers are
reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from mmeval.errors import UsageError
from mmeval.records.sample import Sample
from mmeval.system.wording import listed

FEWER = "data"
"""In ``Subset.how``: the data have fewer samples than the task file expects."""
_NAMED_LABELS = 20
"""Maximum number of labels in a message."""


@dataclass(frozen=True)
class Subset:
    """The part of a task's samples behind its results.

    ``of`` is the number of samples of the task; None if a filter chooses and they were
    not counted. ``how`` names the flags that choose: ``limit``, ``offset``,
    ``samples``, ``shuffle``, ``stratify``. It has ``data`` if the data set is smaller
    than expected; ``of`` is then the number that the task file expects.
    """

    of: int | None
    chosen: int
    how: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """True if samples are known to be left out, or the total is unknown."""
        return self.of is None or self.chosen < self.of

    @property
    def note(self) -> str:
        """The subset in a table: ``subset: 3,000 of 31,026``; empty if none."""
        if not self.partial:
            return ""
        chosen = f"subset: {self.chosen:,}"
        return chosen if self.of is None else f"{chosen} of {self.of:,}"

    def to_json(self) -> dict[str, Any]:
        return {"of": self.of, "chosen": self.chosen, "how": list(self.how)}


@dataclass(frozen=True)
class Draw:
    """How samples are drawn: by a seed, and in proportion to the values of labels."""

    seed: int = 0
    labels: tuple[str, ...] = ()

    def order(self, samples: Iterable[tuple[int, Sample]]) -> list[int]:
        """The indices of all samples in the order of the draw.

        Without labels, samples are ordered by hash. With labels, samples with equal
        values of all labels (missing is a value too) form a stratum. The sample of rank
        r among n in its stratum, by hash, is at position (r + 0.5) / n. At every
        position p each stratum has had n * p samples, rounded, so every start of the
        order is proportional. Ties are ordered by hash.

        The hash of a sample depends on its id only, so it does not change if others are
        added. The samples are read once. Raises UsageError for a label that no sample
        has.
        """
        ranked: list[tuple[int, int, str]] = []
        label_names: set[str] = set()
        for index, sample in samples:
            stratum = repr([sample.metadata.get(label) for label in self.labels])
            name = f"{self.seed}:{sample.id}".encode("utf-8", "surrogatepass")
            rank = int.from_bytes(blake2b(name, digest_size=8).digest())
            ranked.append((rank, index, stratum))
            label_names.update(sample.metadata if self.labels else ())
        missing = sorted(set(self.labels).difference(label_names))
        if missing:
            labels = listed(sorted(label_names), _NAMED_LABELS)
            raise UsageError(
                "--stratify: no sample has the label "
                f"{' or '.join(map(repr, missing))}; "
                f"the labels are: {labels or 'none'}"
            )
        ranked.sort()
        sizes, ranks = Counter(stratum for _, _, stratum in ranked), Counter[str]()
        placed: list[tuple[float, int]] = []
        for _, index, stratum in ranked:
            placed.append(((ranks[stratum] + 0.5) / sizes[stratum], index))
            ranks[stratum] += 1
        # a stable sort keeps equal positions in the order of hashes
        placed.sort(key=itemgetter(0))
        return [index for _, index in placed]
