"""Finds the files of a data set by split, and reads their rows one at a time."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.row import DataRow
from mmeval.errors import MissingDataError, UsageError, did_you_mean
from mmeval.media.media import path_inside
from mmeval.system.foreign_lines import lines_of, list_of
from mmeval.system.wording import listed

SUFFIXES = (".jsonl", ".parquet", ".json")
_SHARD = re.compile(
    r"(?P<split>.+)-(?P<number>[0-9]+)-of-(?P<total>[0-9]{1,6})(?P<rest>.*)"
)
"""``test-00000-of-00003.parquet``; what follows the total (a hash, the suffix) may
differ from shard to shard."""
_MOST_NAMED = 10
MAX_ROW_BYTES = 2**23
"""Of a line of JSON: twice the longest prompt. Each use of a longer one costs seconds
and hundreds of megabytes."""


class RowScan(NamedTuple):
    """The row count of each file; ``fingerprint``: the SHA-256 of all files in
    order."""

    fingerprint: str
    rows: tuple[int, ...]


def row_files(source: DataSource) -> tuple[Path, ...]:
    """The files of a split: the option ``data_file``, or else by the split's own name.
    The option is a name or a list of names. Raises MissingDataError when there are
    none, UsageError for a file that is none of these (``SUFFIXES``), or is a link out
    of the data folder."""
    named = source.options.get("data_file")
    if named is None:
        files = _files_of_split(source)
    else:
        names = [named] if isinstance(named, str) else map(str, named)
        files = tuple(path_inside(source.folder, name) for name in names)
    for file in files:
        if not file.exists():
            raise MissingDataError(
                f"{file}: no such data file (dataset_kwargs: data_file)"
            )
        if not file.is_file():
            raise MissingDataError(f"{file}: is not a regular file")
        if file.suffix not in SUFFIXES:
            raise UsageError(
                f"{file}: the suffix of a data file is one of {', '.join(SUFFIXES)}"
            )
    return files


def read_jsonl(file: Path) -> Iterator[DataRow]:
    """The rows of a JSONL file; blank lines are passed over.

    A line that is too long or nested too deeply has a UsageError for its values. Raises
    UsageError naming file and line for a line that is not JSON.
    """
    for line in lines_of(file, kind=None, most=MAX_ROW_BYTES, faults=True):
        yield DataRow(file, line.number, line.row)


def read_json(file: Path) -> Iterator[DataRow]:
    """The rows of a JSON file that holds one list of them, counted from 1.
    Raises UsageError for a file that does not."""
    for number, row in enumerate(list_of(file), 1):
        yield DataRow(file, number, row)


def scan_files(files: Sequence[Path]) -> RowScan:
    """Fingerprint and row counts, by one pass over the bytes, without parsing rows."""
    sha256 = hashlib.sha256()
    counts: list[int] = []
    for file in files:
        rows, whole = 0, True
        with file.open("rb") as lines:
            for piece in iter(partial(lines.readline, MAX_ROW_BYTES + 1), b""):
                sha256.update(piece)
                rows += whole and (len(piece) > MAX_ROW_BYTES or not piece.isspace())
                whole = len(piece) <= MAX_ROW_BYTES or piece.endswith(b"\n")
        if file.suffix == ".json":
            rows = len(list_of(file))
        elif file.suffix == ".parquet":
            from mmeval.dataset.loaders.parquet_rows import count_parquet

            rows = count_parquet(file)
        counts.append(rows)
    return RowScan(sha256.hexdigest(), tuple(counts))


def _files_of_split(source: DataSource) -> tuple[Path, ...]:
    top = path_inside(source.folder, source.name) if source.name else source.folder
    if "/" in source.split:
        raise UsageError(
            f"test_split: {source.split!r} is not the name of a split; write folders "
            "in dataset_name"
        )
    split = glob.escape(source.split)
    for folder in (top, top / "data"):
        for suffix in SUFFIXES:
            found = sorted(folder.glob(f"{split}{suffix}")) or sorted(
                folder.glob(f"{split}-*{suffix}")
            )
            if found:
                _require_all_shards(found)
                return tuple(
                    path_inside(source.folder, str(file.relative_to(source.folder)))
                    for file in found
                )

    if not top.is_dir():
        raise MissingDataError(f"{top}: there is no such data folder")
    others: set[str] = set()
    tables: list[str] = []
    for path in sorted(top.iterdir()):
        if path.suffix in SUFFIXES:
            others.add(path.stem)
        elif path.suffix in (".csv", ".tsv"):
            tables.append(path.name)
    hint = did_you_mean(source.split, others)
    if others and not hint:
        hint = f" (there is {listed(sorted(others), _MOST_NAMED)})"
    if tables:
        hint += f"; {listed(tables, 3)}: loader: datasets reads such files"
    names = " nor ".join(f"{source.split}{suffix}" for suffix in SUFFIXES)
    raise MissingDataError(
        f"{top}: no rows of the split {source.split!r}: neither {names}. "
        f"Set test_split, or dataset_kwargs: {{data_file: NAME}}{hint}"
    )


def _require_all_shards(files: Sequence[Path]) -> None:
    """Raises MissingDataError for missing shards that the names of others announce."""
    there: set[str] = set()
    announced: set[str] = set()
    for file in files:
        shard = _SHARD.fullmatch(file.name)
        if shard is None:
            continue
        split, total = shard["split"], shard["total"]
        there.add(f"{split}-{shard['number']}-of-{total}")
        width = len(shard["number"])
        for number in range(int(total)):
            announced.add(f"{split}-{number:0{width}}-of-{total}")
    missing = sorted(announced - there)
    if missing:
        raise MissingDataError(
            f"{files[0].parent}: {listed(missing, _MOST_NAMED)} missing, of the files "
            "of one split; fetch the whole split"
        )
