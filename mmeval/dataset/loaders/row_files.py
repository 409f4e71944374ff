"""Finds the files of a split, and reads their rows one at a time."""

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
"""The name of a shard, such as ``test-00000-of-00003.parquet``.

The part of the name after the total may differ between shards.
"""
_MOST_NAMED = 10
MAX_ROW_BYTES = 2**23
"""Maximum length of a line of JSON in bytes: twice the longest prompt.

Each time a longer line is read, parsing takes seconds and hundreds of megabytes.
"""


class RowScan(NamedTuple):
    """The row count of each file, and the SHA-256 of all files in order."""

    fingerprint: str
    rows: tuple[int, ...]


def row_files(source: DataSource) -> tuple[Path, ...]:
    """Returns the files that ``data_file`` names, or the files named after the split.

    The option ``data_file`` is a name or a list of names. Raises MissingDataError if
    the split has no files. Raises UsageError for a suffix that is not in ``SUFFIXES``,
    and for a link that leads out of the data folder.
    """
    data_file = source.options.get("data_file")
    if data_file is None:
        files = _files_of_split(source)
    else:
        names = [data_file] if isinstance(data_file, str) else map(str, data_file)
        files = tuple(path_inside(source.folder, name) for name in names)
    for file in files:
        if not file.exists():
            raise MissingDataError(
                f"{file}: this data file does not exist (dataset_kwargs: data_file)"
            )
        if not file.is_file():
            raise MissingDataError(f"{file}: this is not a regular file")
        if file.suffix not in SUFFIXES:
            raise UsageError(
                f"{file}: the suffix of a data file must be one of "
                f"{', '.join(SUFFIXES)}"
            )
    return files


def read_jsonl(file: Path) -> Iterator[DataRow]:
    """Yields the rows of a JSONL file. Blank lines are ignored.

    For a line that is too long or too deeply nested, yields a row whose ``values`` are
    a UsageError. Raises UsageError for a line that is not JSON; the message names the
    file and the line.
    """
    for line in lines_of(file, kind=None, most=MAX_ROW_BYTES, faults=True):
        yield DataRow(file, line.number, line.row)


def read_json(file: Path) -> Iterator[DataRow]:
    """Yields the rows of a JSON file with one list, counted from 1.

    Raises UsageError for any other file.
    """
    for number, row in enumerate(list_of(file), 1):
        yield DataRow(file, number, row)


def scan_files(files: Sequence[Path]) -> RowScan:
    """Computes the fingerprint and row counts in one pass, without parsing the rows."""
    sha256 = hashlib.sha256()
    counts: list[int] = []
    for file in files:
        # reads are bounded, so a very long line arrives in several pieces
        rows, is_line_start = 0, True
        with file.open("rb") as lines:
            for piece in iter(partial(lines.readline, MAX_ROW_BYTES + 1), b""):
                sha256.update(piece)
                rows += is_line_start and (
                    len(piece) > MAX_ROW_BYTES or not piece.isspace()
                )
                is_line_start = len(piece) <= MAX_ROW_BYTES or piece.endswith(b"\n")
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
            files = sorted(folder.glob(f"{split}{suffix}")) or sorted(
                folder.glob(f"{split}-*{suffix}")
            )
            if files:
                _require_all_shards(files)
                return tuple(
                    path_inside(source.folder, str(file.relative_to(source.folder)))
                    for file in files
                )

    if not top.is_dir():
        raise MissingDataError(f"{top}: this data folder does not exist")
    other_splits: set[str] = set()
    tables: list[str] = []
    for path in sorted(top.iterdir()):
        if path.suffix in SUFFIXES:
            other_splits.add(path.stem)
        elif path.suffix in (".csv", ".tsv"):
            tables.append(path.name)
    hint = did_you_mean(source.split, other_splits)
    if other_splits and not hint:
        hint = f" (the splits are {listed(sorted(other_splits), _MOST_NAMED)})"
    if tables:
        hint += f"; loader: datasets reads {listed(tables, 3)}"
    names = " nor ".join(f"{source.split}{suffix}" for suffix in SUFFIXES)
    raise MissingDataError(
        f"{top}: no rows of the split {source.split!r}: neither {names} exists. "
        f"Set test_split, or dataset_kwargs: {{data_file: NAME}}{hint}"
    )


def _require_all_shards(files: Sequence[Path]) -> None:
    """Raises MissingDataError if the file names imply that shards are missing."""
    present: set[str] = set()
    expected: set[str] = set()
    for file in files:
        shard = _SHARD.fullmatch(file.name)
        if shard is None:
            continue
        split, total = shard["split"], shard["total"]
        present.add(f"{split}-{shard['number']}-of-{total}")
        width = len(shard["number"])
        for number in range(int(total)):
            expected.add(f"{split}-{number:0{width}}-of-{total}")
    missing = sorted(expected - present)
    if missing:
        raise MissingDataError(
            f"{files[0].parent}: these files of the split are missing: "
            f"{listed(missing, _MOST_NAMED)}; fetch the whole split"
        )
