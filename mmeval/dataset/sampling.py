"""Chooses a subset of samples, by rank or by strata.

A draw orders the whole data set by a seed, and ``--limit`` selects the first samples of
this order. A larger limit therefore includes the samples of a smaller limit, and their
answers are reused.
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
"""The value in ``Subset.how`` if the data contain fewer samples than the task
expects."""
_NAMED_LABELS = 20
"""Maximum number of labels in a message."""


@dataclass(frozen=True)
class Subset:
    """The samples of a task from which its results are computed.

    ``of`` is the number of samples of the task. It is None if the task has a filter and
    its samples were not counted. ``how`` names the flags that select samples:
    ``limit``, ``offset``, ``samples``, ``shuffle``, ``stratify``. It contains ``data``
    if the data set is smaller than expected. In this case, ``of`` is the number that
    the task file expects.
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
        """The note for tables, such as ``subset: 3,000 of 31,026``.

        The note is empty if the results are not from a subset.
        """
        if not self.partial:
            return ""
        chosen = f"subset: {self.chosen:,}"
        return chosen if self.of is None else f"{chosen} of {self.of:,}"

    def to_json(self) -> dict[str, Any]:
        return {"of": self.of, "chosen": self.chosen, "how": list(self.how)}


@dataclass(frozen=True)
class Draw:
    """A random order of samples by a seed, in proportion to the values of labels."""

    seed: int = 0
    labels: tuple[str, ...] = ()

    def order(self, samples: Iterable[tuple[int, Sample]]) -> list[int]:
        """Returns the indices of all samples in the order of the draw.

        Without labels, samples are ordered by hash. With labels, samples with equal
        values of all labels form a stratum, where a missing label is treated as a
        value. In a stratum of n samples, the sample of rank r by hash is at position (r
        + 0.5) / n. Up to any position p, the order contains n * p samples (rounded) of
        each stratum. The first samples therefore always have the proportions of the
        data set. Ties are ordered by hash.

        The hash of a sample depends only on its id, so it does not change if samples
        are added. The samples are read once. Raises UsageError for a label that no
        sample has.
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
