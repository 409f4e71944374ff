"""Shards split a run between several machines. Each shard has its own run folder.

Shard I of N runs every N-th chosen sample of a task, with all its repeats. Its folder
is ``<run>/shards/<I>-of-<N>``. The shard reuses the answers of the run and of all other
shards, even of shards with another N.
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
"""Maximum number of shards of a run. Each shard reads the answers of all others."""
_NAMED = 3
"""Number of shards that a message names; the others are counted."""
MERGED = "merged"
"""The field of ``run.json`` about merged shards.

The field contains the state of each merged shard, the exit code of the merge, and
whether recorded trials were lost.
"""
_NAME = re.compile(r"([1-9][0-9]*)-of-([1-9][0-9]*)")


@dataclass(frozen=True, order=True)
class Shard:
    """One of ``of`` shards; the first shard has ``number`` 1."""

    of: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder_name(self) -> str:
        return f"{self.number}-of-{self.of}"

    def takes(self, place: int) -> bool:
        """Returns True if the shard runs the sample at this position.

        ``place`` is the position among the chosen samples of a task, starting at 0. The
        rule is the same in every task, so that one shard makes the calls that tasks
        with the same data share.
        """
        return place % self.of == self.number - 1

    def share(self, samples: int) -> int:
        """Returns how many of ``samples`` chosen samples the shard runs."""
        return len(range(self.number - 1, samples, self.of))

    def share_of(self, places: Iterable[int]) -> list[int]:
        """Returns the chosen samples that the shard runs.

        Samples are given and returned as their indices in the data set.
        """
        return sorted(places)[self.number - 1 :: self.of]

    @classmethod
    def named(cls, name: object) -> Shard | None:
        """Parses ``I/N``; returns None for any other value."""
        number, _, of = str(name).partition("/")
        is_number = number.isdecimal() and of.isdecimal()
        return cls(int(of), int(number)) if is_number else None


def in_words(shards: Sequence[Shard], count: int | None = None) -> str:
    """Returns a text that names shards.

    Examples are ``shard 1/2`` and ``64 shards (1/64, 2/64, 3/64 and 61 more)``.

    ``count`` is the total number if ``shards`` contains only the first shards.
    """
    total = len(shards) if count is None else count
    if total == 1:
        return f"shard {shards[0]}"
    named = ", ".join(str(shard) for shard in shards[:_NAMED])
    more = total - len(shards[:_NAMED])
    return f"{total:,} shards ({named}{f' and {more:,} more' if more else ''})"


def shard_path(run: Path, shard: Shard) -> Path:
    return run / SHARDS / shard.folder_name


def shards_of(run: Path) -> dict[Shard, Path]:
    """Returns the shards of a run in order, with their folders."""
    shards: dict[Shard, Path] = {}
    for path in (run / SHARDS).glob("*-of-*"):
        if name := _NAME.fullmatch(path.name):
            shards[Shard(of=int(name[2]), number=int(name[1]))] = path
    return dict(sorted(shards.items()))


def beside(shard: Path) -> list[Path]:
    """Returns the folders whose answers a shard reads: its run and the other shards."""
    run = shard.parent.parent
    return [run, *(path for path in shards_of(run).values() if path != shard)]


def state(shard: Path) -> str:
    """Returns a digest of a shard's folder; any write to the folder changes the digest.

    Media are not inspected, because there may be very many files, and the journal
    contains a line for each.
    """
    patterns = (
        "run.json",
        "journal/*.jsonl",
        "journal/*/*",
        "samples/*",
        "trials/*",
        "scores/*/*/*",
    )
    statuses: list[tuple[str, int, int]] = []
    for pattern in patterns:
        for path in sorted(shard.glob(pattern)):
            status = path.stat()
            name = str(path.relative_to(shard))
            statuses.append((name, status.st_size, status.st_mtime_ns))
    return blake2b(repr(statuses).encode(), digest_size=8).hexdigest()


def unmerged(run: Path, record: Mapping[str, Any]) -> Iterator[Shard]:
    """Yields the shards whose current state is not merged.

    ``record`` is the content of the run's ``run.json``.
    """
    merged_states = record.get(MERGED, {}).get("shards", {})
    for shard, path in shards_of(run).items():
        if merged_states.get(shard.folder_name) != state(path):
            yield shard


def as_progressions(places: list[int]) -> list[list[int]]:
    """Compresses rising integers to entries ``[first, last, step]``."""
    entries: list[list[int]] = []
    for place in places:
        if entries and (
            entries[-1][2] == 0 or place - entries[-1][1] == entries[-1][2]
        ):
            entries[-1] = [entries[-1][0], place, place - entries[-1][1]]
        else:
            entries.append([place, place, 0])
    return entries


def from_progressions(entries: list[list[int]]) -> set[int]:
    places: set[int] = set()
    for first, last, step in entries:
        places.update(range(first, last + 1, step or 1))
    return places
