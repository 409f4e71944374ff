"""Finds the record files in the folders of a UniM data set, by field and domain."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from mmeval.errors import MissingDataError
from mmeval.media import path_inside
from mmeval.tasks.unim.data.concatenated_json import read_records
from mmeval.tasks.unim.data.files import RecordFile
from mmeval.tasks.unim.data.sample import identity_of
from mmeval.tasks.unim.domains import domain_of
from mmeval.tasks.unim.labels import FieldDomain, difficulty_of, field_of, word

RECORD_FOLDER = "qapairs_placeholder"
CAPTION_FOLDER = "qapairs_caption"
_SKIPPED_FOLDERS = (RECORD_FOLDER, CAPTION_FOLDER, "data")
_SUFFIXES = (".jsonl", ".json")
_T = TypeVar("_T")
_Source = TypeVar("_Source")
_MIN_AGE_NS = 2 * 10**9
"""Minimum age of a file in nanoseconds. A file that changed more recently may change
again without a new time stamp."""


def record_files(folder: Path) -> list[Path]:
    """Returns the record files under a folder, ordered by path.

    Hidden files, media and the files of the other variant are left out. Raises
    UsageError for a symbolic link that leads out of the folder.
    """
    files = []
    for current, folders, names in os.walk(folder):
        skipped = _SKIPPED_FOLDERS if Path(current) == folder else ()
        folders[:] = [
            name for name in folders if name not in skipped and not name.startswith(".")
        ]
        for name in names:
            path = Path(current, name)
            is_record_file = path.suffix.lower() in _SUFFIXES and path.is_file()
            if is_record_file and not name.startswith("."):
                files.append(path_inside(folder, str(path.relative_to(folder))))
    return sorted(files, key=Path.as_posix)


def selected_names(name: str) -> FieldDomain:
    """Returns the field or domain that a ``dataset_name`` selects, if any."""
    field = field_of(name) if name else ""
    return FieldDomain(field, "" if field or not name else word(name))


def may_hold(file: PurePath, selected: FieldDomain) -> bool:
    """Returns True if a file may contain records of a field and domain.

    Only the names of the folders are compared. A folder with an unknown name may
    contain any records.
    """
    folders = file.parent.parts
    field = field_of(folders[0]) if folders else ""
    domain = word("".join(folders[1:2] if field else folders[:1]))
    if domain_of(domain) is None:
        domain = ""
    return belongs(FieldDomain(field, domain), selected)


def belongs(names: FieldDomain, selected: FieldDomain) -> bool:
    """Returns True if a record's field and domain are selected or unknown."""
    if selected.field and names.field and names.field != selected.field:
        return False
    if not selected.domain or not names.domain or names.domain == selected.domain:
        return True
    known = domain_of(names.domain)
    return known is not None and known is domain_of(selected.domain)


def sha256_of(file: Path) -> str:
    """Returns the SHA-256 of a file. Raises MissingDataError if it cannot be read."""
    return _read_once(_sha256, file, file)


class RecordKind(NamedTuple):
    """The labels by which records are counted. An unknown label is an empty string."""

    names: FieldDomain
    difficulty: str


def counts_of(record_file: RecordFile) -> Mapping[RecordKind, int]:
    """Returns the number of records in a file by field, domain and difficulty.

    Raises MissingDataError if the file cannot be read.
    """
    return _read_once(_counts, record_file.file, record_file)


def _read_once(
    read: Callable[[_Source], _T],
    file: Path,
    source: _Source,
) -> _T:
    """Reads a file once per process for all tasks, and again if it has changed."""
    try:
        state = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from None
    if time.time_ns() - state.st_mtime_ns < _MIN_AGE_NS:
        return read(source)
    result: _T = _cached(read, source, (state.st_ino, state.st_size, state.st_mtime_ns))
    return result


@lru_cache(maxsize=16384)
def _cached(
    read: Callable[[_Source], _T],
    source: _Source,
    _state: tuple[int, int, int],
) -> _T:
    return read(source)


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from None


def _counts(record_file: RecordFile) -> Mapping[RecordKind, int]:
    counts = Counter[RecordKind]()
    for record in read_records(record_file.file):
        names = identity_of(record, record_file).names
        counts[RecordKind(names, difficulty_of(record.row, []))] += 1
    return counts


def _unreadable(file: Path, error: OSError) -> MissingDataError:
    return MissingDataError(
        f"{file}: the records cannot be read ({error.strerror}). Fetch the file again"
    )
