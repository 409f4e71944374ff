"""The folders of a UniM data set: record files, their fields, domains and content."""

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
from mmeval.tasks.unim.data.files import Place
from mmeval.tasks.unim.data.sample import identity_of
from mmeval.tasks.unim.domains import domain_of
from mmeval.tasks.unim.labels import Names, difficulty_of, field_of, word

RECORD_FOLDER = "qapairs_placeholder"
CAPTION_FOLDER = "qapairs_caption"
_OTHER_FOLDERS = (RECORD_FOLDER, CAPTION_FOLDER, "data")
_SUFFIXES = (".jsonl", ".json")
_T = TypeVar("_T")
_Of = TypeVar("_Of")
_SETTLED_NS = 2 * 10**9
"""Nanoseconds: a file that changed more recently may change again and keep its time
stamp."""


def record_files(folder: Path) -> list[Path]:
    """The record files under a folder in the order of their paths. Hidden ones, media
    and the other variant are left out. Raises UsageError for a link that leads out of
    the folder."""
    files = []
    for here, folders, names in os.walk(folder):
        others = _OTHER_FOLDERS if Path(here) == folder else ()
        folders[:] = [
            name for name in folders if name not in others and not name.startswith(".")
        ]
        for name in names:
            path = Path(here, name)
            is_record_file = path.suffix.lower() in _SUFFIXES and path.is_file()
            if is_record_file and not name.startswith("."):
                files.append(path_inside(folder, str(path.relative_to(folder))))
    return sorted(files, key=Path.as_posix)


def wanted_names(name: str) -> Names:
    """The field or the domain of a ``dataset_name``; empty for all."""
    field = field_of(name) if name else ""
    return Names(field, "" if field or not name else word(name))


def may_hold(file: PurePath, wanted: Names) -> bool:
    """Whether a file, by its relative folders, may hold records of a field and domain.
    A folder with another name may hold any: the records decide."""
    folders = file.parent.parts
    field = field_of(folders[0]) if folders else ""
    domain = word("".join(folders[1:2] if field else folders[:1]))
    if domain_of(domain) is None:
        domain = ""
    return belongs(Names(field, domain), wanted)


def belongs(names: Names, wanted: Names) -> bool:
    """Whether a record is of the wanted field and domain; unknown ones are."""
    if wanted.field and names.field and names.field != wanted.field:
        return False
    if not wanted.domain or not names.domain or names.domain == wanted.domain:
        return True
    known = domain_of(names.domain)
    return known is not None and known is domain_of(wanted.domain)


def sha256_of(file: Path) -> str:
    """The digest of a file. Raises MissingDataError when it cannot be read."""
    return _read_once(_sha256, file, file)


class RecordKind(NamedTuple):
    """What records are counted by; ``difficulty`` is empty where it is unknown."""

    names: Names
    difficulty: str


def counts_of(place: Place) -> Mapping[RecordKind, int]:
    """The numbers of records in a file by field, domain and difficulty. Raises
    MissingDataError."""
    return _read_once(_counts, place.file, place)


def _read_once(
    read: Callable[[_Of], _T],
    file: Path,
    of: _Of,
) -> _T:
    """Read a file once in a process for all tasks, and again when it has changed."""
    try:
        state = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from None
    if time.time_ns() - state.st_mtime_ns < _SETTLED_NS:
        return read(of)
    found: _T = _kept(read, of, (state.st_ino, state.st_size, state.st_mtime_ns))
    return found


@lru_cache(maxsize=16384)
def _kept(
    read: Callable[[_Of], _T],
    of: _Of,
    _state: tuple[int, int, int],
) -> _T:
    return read(of)


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from None


def _counts(place: Place) -> Mapping[RecordKind, int]:
    counts = Counter[RecordKind]()
    for record in read_records(place.file):
        names = identity_of(record, place).names
        counts[RecordKind(names, difficulty_of(record.row, []))] += 1
    return counts


def _unreadable(file: Path, error: OSError) -> MissingDataError:
    return MissingDataError(
        f"{file}: the records cannot be read ({error.strerror}); fetch the file again"
    )
