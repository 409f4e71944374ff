"""Shards: the parts of a run that several machines ask, each in a run folder of its
own.

Shard I of N takes every N-th chosen sample of a task, with all its repeats. Its folder
is ``<run>/shards/<I>-of-<N>``. It reads what the run and its other shards have
answered, whatever their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

SHARDS = "shards"
MOST_SHARDS = 10_000
"""Of one run. Each of them reads what all others have answered."""
_NAMED = 3
"""So many shards are named where there are more."""
MERGED = "merged"
"""In ``run.json``: the state of each shard when it was merged, the exit code of that,
and whether recorded trials were lost."""
_NAME = re.compile(r"([1-9][0-9]*)-of-([1-9][0-9]*)")


@dataclass(frozen=True, order=True)
class Shard:
    """One of ``of`` shards; the first has the ``number`` 1."""

    of: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder_name(self) -> str:
        return f"{self.number}-of-{self.of}"

    def takes(self, place: int) -> bool:
        """Whether it has the sample at a place, from 0, among the chosen ones of a
        task. It is the same in every task: what tasks of the same data ask in common is
        asked by one shard."""
        return place % self.of == self.number - 1

    def share(self, samples: int) -> int:
        """How many of so many chosen samples of a task it has."""
        return len(range(self.number - 1, samples, self.of))

    def share_of(self, places: Iterable[int]) -> list[int]:
        """Those that it has of the chosen samples of a task, by their places in the
        data set."""
        return sorted(places)[self.number - 1 :: self.of]

    @classmethod
    def named(cls, name: object) -> Shard | None:
        """The shard that ``I/N`` names; None for another name."""
        number, _, of = str(name).partition("/")
        is_number = number.isdecimal() and of.isdecimal()
        return cls(int(of), int(number)) if is_number else None


def in_words(shards: Sequence[Shard], count: int | None = None) -> str:
    """``shard 1/2``, or ``64 shards (1/64, 2/64, 3/64 and 61 more)``. ``count`` is how
    many there are, where these are the first of them."""
    total = len(shards) if count is None else count
    if total == 1:
        return f"shard {shards[0]}"
    named = ", ".join(str(shard) for shard in shards[:_NAMED])
    more = total - len(shards[:_NAMED])
    return f"{total:,} shards ({named}{f' and {more:,} more' if more else ''})"


def shard_path(run: Path, shard: Shard) -> Path:
    return run / SHARDS / shard.folder_name


def shards_of(run: Path) -> dict[Shard, Path]:
    """The shards that a run has, with their folders, in their order."""
    shards: dict[Shard, Path] = {}
    for path in (run / SHARDS).glob("*-of-*"):
        if name := _NAME.fullmatch(path.name):
            shards[Shard(of=int(name[2]), number=int(name[1]))] = path
    return dict(sorted(shards.items()))


def beside(shard: Path) -> list[Path]:
    """The folders whose answers a shard reads besides its own: the run's, and those of
    the other shards."""
    run = shard.parent.parent
    return [run, *(path for path in shards_of(run).values() if path != shard)]


def state(shard: Path) -> str:
    """What names the content of a shard's folder: it changes with whatever is written
    there. Media are not inspected: there may be very many, and the journal has a line
    for each."""
    patterns = (
        "run.json",
        "journal/*.jsonl",
        "journal/*/*",
        "samples/*",
        "trials/*",
        "scores/*/*/*",
    )
    found: list[tuple[str, int, int]] = []
    for pattern in patterns:
        for path in sorted(shard.glob(pattern)):
            status = path.stat()
            name = str(path.relative_to(shard))
            found.append((name, status.st_size, status.st_mtime_ns))
    return blake2b(repr(found).encode(), digest_size=8).hexdigest()


def unmerged(run: Path, record: Mapping[str, Any]) -> Iterator[Shard]:
    """The shards of a run that hold what is not merged into it; ``record`` is the
    run's."""
    known = record.get(MERGED, {}).get("shards", {})
    for shard, path in shards_of(run).items():
        if known.get(shard.folder_name) != state(path):
            yield shard


def as_progressions(places: list[int]) -> list[list[int]]:
    """Rising numbers as ``[first, last, step]``: every N-th one is a single entry."""
    found: list[list[int]] = []
    for place in places:
        if found and (found[-1][2] == 0 or place - found[-1][1] == found[-1][2]):
            found[-1] = [found[-1][0], place, place - found[-1][1]]
        else:
            found.append([place, place, 0])
    return found


def from_progressions(entries: list[list[int]]) -> set[int]:
    places: set[int] = set()
    for first, last, step in entries:
        places.update(range(first, last + 1, step or 1))
    return places
