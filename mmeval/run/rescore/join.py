"""Copies the files of shards into their run: journals, media, records and score rows.

A file is written under a temporary name and then renamed, and shards are not changed.
An interrupted merge can therefore be repeated. Existing lines of the run are kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mmeval.errors import StorageError
from mmeval.metric.scoring.score_set import FINISHED, PLAN, ROWS
from mmeval.metric.scoring.verdict_log import FILE as VERDICTS
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import trial_key
from mmeval.store.segment import INBOX
from mmeval.system.folders import link_or_copy
from mmeval.system.json_lines import read_lines, unsealed
from mmeval.system.wording import file_name

Row = Mapping[str, Any]
ADVICE = "The shards are unchanged. Free space, then run the same command"


def join(
    run: Path,
    shards: Sequence[Path],
    rebuilt_rows: Mapping[str, Sequence[bytes]] = MappingProxyType({}),
) -> None:
    """Copies the files of shards into their run, the newest shard last.

    ``rebuilt_rows`` contains, by task, lines of trials that no shard contains any more.
    Raises StorageError.
    """
    try:
        for shard in shards:
            if any((shard / "journal" / INBOX).glob("*.receipt")):
                # opening the journal completes its receipts
                Journal(shard / "journal", MediaStore(shard / "media")).close()
            _link(run, shard, "media/*/[!.]*")  # media before the lines that name them
            _link(run, shard, "journal/*.jsonl")
        for name in _names(shards, "samples/*.jsonl"):
            _add(run / name, [shard / name for shard in shards])
        more: dict[Path, Sequence[bytes]] = {}
        for task, rows in rebuilt_rows.items():
            more[Path("trials", f"{file_name(task)}.jsonl")] = rows
        for name in sorted({*_names(shards, "trials/*.jsonl"), *more}):
            latest = _LatestTrials()
            trials = [shard / name for shard in shards]
            _add(run / name, trials, latest.takes, more=more.get(name, ()))
            for scores in _names(shards, f"scores/{name.stem}/*"):
                _join_scores(run / scores, [shard / scores for shard in shards], latest)
    except OSError as error:
        raise StorageError(
            f"{run}: the shards cannot be merged ({error.strerror or error}). {ADVICE}"
        ) from None


def _link(
    run: Path,
    shard: Path,
    pattern: str,
) -> None:
    for source in sorted(shard.glob(pattern)):
        target = run / source.relative_to(shard)
        # an incomplete copy of a shard must not replace a complete file of the run
        if target.is_file() and target.stat().st_size >= source.stat().st_size:
            continue
        link_or_copy(source, target)


def _names(shards: Sequence[Path], pattern: str) -> list[Path]:
    names: set[Path] = set()
    for shard in shards:
        names.update(path.relative_to(shard) for path in shard.glob(pattern))
    return sorted(names)


class _LatestTrials:
    """Maps each trial to the digest of its latest answer, or to "" after a failure."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}

    def takes(self, row: Row) -> bool:
        """Adds a row unless it is a failure of an answered trial.

        Returns True if it was added.
        """
        key = trial_key(row["i"], row["n"])
        if "error" in row and self._digests.get(key):
            return False
        self._digests[key] = "" if "error" in row else row["d"]
        return True

    def matches(self, row: Row) -> bool:
        """Returns True if a score row belongs to the latest answer of its trial."""
        digest = row["d"] if row["status"] == "ok" else ""
        return self._digests.get(trial_key(row["i"], row["n"])) == digest


def _join_scores(
    target: Path,
    sources: Sequence[Path],
    latest: _LatestTrials,
) -> None:
    rows = []
    for source in sources:
        if (source / PLAN).exists() and not (target / PLAN).exists():
            link_or_copy(source / PLAN, target / PLAN)
        rows += [source / FINISHED, source / ROWS]
    _add(target / ROWS, rows, latest.matches, known=target / FINISHED)
    _add(target / VERDICTS, [source / VERDICTS for source in sources])


def _add(
    target: Path,
    sources: Iterable[Path],
    takes: Callable[[Row], bool] = lambda _: True,
    known: Path | None = None,
    more: Iterable[bytes] = (),
) -> None:
    """Adds all new lines of other files and of ``more`` to a file, or adds no line.

    A line is new if neither the file nor ``known`` contains it, and if ``takes``
    returns True. ``takes`` is called with the existing lines of the file first.
    """
    known_lines: set[int] = set()
    if known is not None:
        known_lines.update(hash(line) for _, line, _ in read_lines(known))
    # the run is locked, so a file of this name is left from a killed merge
    temporary = target.with_name(f".{target.name}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    added = False
    try:
        with temporary.open("wb") as out:
            for _, line, row in read_lines(target):
                takes(row)
                known_lines.add(hash(line))
                out.write(line)
            others = chain.from_iterable(map(read_lines, sources))
            more_lines = ((0, line, unsealed(line)) for line in more)
            for _, line, row in chain(others, more_lines):
                if hash(line) not in known_lines and takes(row):
                    known_lines.add(hash(line))
                    added = True
                    out.write(line)
        if added:
            temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
