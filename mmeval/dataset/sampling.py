"""Chooses samples when only some are asked, by rank or by strata.

A draw is an order over the whole data set that the seed decides; ``--limit`` takes its
beginning. A larger limit therefore asks all that a smaller one has asked, and its
answers are kept.
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
"""In ``Subset.how``: no flag left samples out, the data hold fewer than the task file
expects."""
_NAMED_LABELS = 20
"""Labels that a message lists."""


@dataclass(frozen=True)
class Subset:
    """The part of a task's samples behind its numbers.

    ``of`` is the number of samples that the task has; None where a filter chooses and
    they were not counted. ``how`` names the flags that chose: ``limit``, ``offset``,
    ``samples``, ``shuffle``, ``stratify``; and ``data`` where the data themselves hold
    fewer than they should, so that ``of`` is the number that the task file expects.
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

        Without labels that is the order of their hashes. With labels, the samples that
        share the values of all labels (a missing one is a value too) are a stratum:
        ranked by hash, the one of rank r among n stands at (r + 0.5) / n. Up to any
        position p each stratum has given n * p samples, rounded, so every beginning of
        the order is proportional. Ties go by hash.

        A sample is known by its id: its hash does not change when others are added. One
        pass. Raises UsageError for a label that no sample has.
        """
        drawn: list[tuple[int, int, str]] = []
        known: set[str] = set()
        for index, sample in samples:
            stratum = repr([sample.metadata.get(label) for label in self.labels])
            name = f"{self.seed}:{sample.id}".encode("utf-8", "surrogatepass")
            rank = int.from_bytes(blake2b(name, digest_size=8).digest())
            drawn.append((rank, index, stratum))
            known.update(sample.metadata if self.labels else ())
        missing = sorted(set(self.labels).difference(known))
        if missing:
            labels = listed(sorted(known), _NAMED_LABELS)
            raise UsageError(
                "--stratify: no sample has the label "
                f"{' or '.join(map(repr, missing))}; "
                f"the labels are: {labels or 'none at all'}"
            )
        drawn.sort()
        sizes, ranks = Counter(stratum for _, _, stratum in drawn), Counter[str]()
        placed: list[tuple[float, int]] = []
        for _, index, stratum in drawn:
            placed.append(((ranks[stratum] + 0.5) / sizes[stratum], index))
            ranks[stratum] += 1
        # stable: equal positions stay in the order of hashes
        placed.sort(key=itemgetter(0))
        return [index for _, index in placed]
