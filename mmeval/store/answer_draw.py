"""A random draw of a run's answers, for a judge that is not asked about all of them.

The folder of the judge's score set keeps the draw in ``draw.json``: the seed, the
probability with which each sample was drawn, and the ids of the drawn samples.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from mmeval.errors import UsageError
from mmeval.records.digests import digest
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import sealed_document, unsealed_document

FILE = "draw.json"
SampleName: TypeAlias = tuple[str, str]
"""The names of a task and of a sample."""


@dataclass(frozen=True)
class AnswerDraw:
    """Draws ``count`` samples, each with the same probability.

    A draw depends only on the seed and on the names of the samples. Therefore runs of
    the same samples have the same draw, and a larger count adds to a smaller one.
    """

    count: int
    seed: int = 0

    def of(self, samples: Iterable[SampleName]) -> DrawnSamples:
        """Returns the drawn samples; all if there are no more than ``count``."""
        names = set(samples)
        in_order = sorted(names, key=self._rank)
        probability = min(1.0, self.count / len(names)) if names else 1.0
        return DrawnSamples(self.seed, probability, frozenset(in_order[: self.count]))

    def _rank(self, name: SampleName) -> tuple[str, SampleName]:
        return digest([self.seed, *name]), name


@dataclass(frozen=True)
class DrawnSamples:
    """The drawn samples, and the probability with which each was drawn."""

    seed: int
    probability: float
    samples: frozenset[SampleName]

    def keep(self, score_set: Path, task: str) -> None:
        """Writes the drawn samples of a task into the folder of its score set.

        An earlier draw that includes these samples is kept. Raises StorageError.
        """
        samples = sorted(sample for name, sample in self.samples if name == task)
        kept = kept_draw(score_set)
        if kept is not None and kept.seed == self.seed and kept.includes(samples):
            return
        draw = KeptDraw(self.seed, self.probability, tuple(samples))
        score_set.mkdir(parents=True, exist_ok=True)
        write_atomic(score_set / FILE, sealed_document(asdict(draw)))


@dataclass(frozen=True)
class KeptDraw:
    """The draw that a score set was made with. ``samples`` are ids."""

    seed: int
    probability: float
    samples: tuple[str, ...]

    def includes(self, samples: Iterable[str]) -> bool:
        """Returns True if all these samples were drawn."""
        return set(self.samples).issuperset(samples)


def kept_draw(score_set: Path) -> KeptDraw | None:
    """Returns the draw of a score set, or None if it was not made with a draw.

    Raises UsageError if the file is damaged.
    """
    file = score_set / FILE
    if not file.is_file():
        return None
    try:
        document = unsealed_document(json.loads(file.read_bytes()))
        return KeptDraw(
            seed=document["seed"],
            probability=document["probability"],
            samples=tuple(document["samples"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{file} is damaged ({error}); remove it, then draw again", file=file
        ) from None
