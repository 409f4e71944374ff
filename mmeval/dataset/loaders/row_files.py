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
    names = [named] if isinstance(named, str) else [str(name) for name in named or ()]
    files = (
        _files_of_split(source)
        if named is None
        else tuple(path_inside(source.folder, name) for name in names)
    )
    for file in files:
        if not file.is_file():
            what = (
                "is not a regular file"
                if file.exists()
                else "no such data file (dataset_kwargs: data_file)"
            )
            raise MissingDataError(f"{file}: {what}")
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
    rows = tuple(_scan(file, sha256) for file in files)
    return RowScan(sha256.hexdigest(), rows)


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
    raise MissingDataError(_no_rows(top, source.split))


def _require_all_shards(files: Sequence[Path]) -> None:
    """Raises MissingDataError for missing shards that the names of others announce."""
    shards = [match for file in files if (match := _SHARD.fullmatch(file.name))]
    there = {
        f"{shard['split']}-{shard['number']}-of-{shard['total']}" for shard in shards
    }
    sets = {(shard["split"], len(shard["number"]), shard["total"]) for shard in shards}
    announced = {
        f"{split}-{number:0{width}}-of-{total}"
        for split, width, total in sets
        for number in range(int(total))
    }
    missing = sorted(announced - there)
    if missing:
        raise MissingDataError(
            f"{files[0].parent}: {listed(missing, _MOST_NAMED)} missing, of the files "
            "of one split; fetch the whole split"
        )


def _no_rows(folder: Path, split: str) -> str:
    if not folder.is_dir():
        return f"{folder}: there is no such data folder"
    others = sorted({path.stem for path in folder.iterdir() if path.suffix in SUFFIXES})
    near = did_you_mean(split, others) or (
        f" (there is {listed(others, _MOST_NAMED)})" if others else ""
    )
    tables = sorted(
        path.name for path in folder.iterdir() if path.suffix in (".csv", ".tsv")
    )
    table = (
        f"; {listed(tables, 3)}: loader: datasets reads such files" if tables else ""
    )
    return (
        f"{folder}: no rows of the split {split!r}: neither {split}.jsonl nor "
        f"{split}.parquet nor {split}.json. "
        f"Set test_split, or dataset_kwargs: {{data_file: NAME}}{near}{table}"
    )


def _scan(file: Path, sha256: hashlib._Hash) -> int:
    rows, whole = 0, True
    with file.open("rb") as lines:
        for piece in iter(partial(lines.readline, MAX_ROW_BYTES + 1), b""):
            sha256.update(piece)
            rows += whole and (len(piece) > MAX_ROW_BYTES or not piece.isspace())
            whole = len(piece) <= MAX_ROW_BYTES or piece.endswith(b"\n")
    if file.suffix == ".jsonl":
        return rows
    if file.suffix == ".json":
        return len(list_of(file))
    from mmeval.dataset.loaders.parquet_rows import count_parquet

    return count_parquet(file)
