"""The folders of a UniM data set: record files, their fields, domains and content."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar

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
_SETTLED_NS = 2 * 10**9
"""Nanoseconds: a file that changed more recently may change again and keep its time
stamp."""


def record_files(folder: Path) -> list[Path]:
    """The record files under a folder in the order of their paths. Hidden ones, media
    and the other variant are left out. Raises UsageError for a link that leads out of
    the folder."""
    return sorted(_record_files(folder), key=Path.as_posix)


def _record_files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        others = _OTHER_FOLDERS if Path(here) == folder else ()
        folders[:] = [
            name for name in folders if name not in others and not name.startswith(".")
        ]
        for name in names:
            path = Path(here, name)
            if (
                path.suffix.lower() in _SUFFIXES
                and not name.startswith(".")
                and path.is_file()
            ):
                yield path_inside(folder, str(path.relative_to(folder)))


def wanted_names(name: str) -> Names:
    """The field or the domain of a ``dataset_name``; empty for all."""
    field = field_of(name) if name else ""
    return Names(field, "" if field or not name else word(name))


def may_hold(file: PurePath, wanted: Names) -> bool:
    """Whether a file, by its relative folders, may hold records of a field and domain.
    A folder with another name may hold any: the records decide."""
    folders = file.parent.parts
    field = field_of(folders[0]) if folders else ""
    if wanted.field and field and field != wanted.field:
        return False
    domain = word("".join(folders[1:2] if field else folders[:1]))
    return (
        not wanted.domain
        or domain_of(domain) is None
        or _same_domain(domain, wanted.domain)
    )


def belongs(names: Names, wanted: Names) -> bool:
    """Whether a record is of the wanted field and domain; unknown ones are."""
    other_field = wanted.field and names.field and names.field != wanted.field
    other_domain = (
        wanted.domain and names.domain and not _same_domain(names.domain, wanted.domain)
    )
    return not other_field and not other_domain


def _same_domain(one: str, other: str) -> bool:
    known = domain_of(one)
    return one == other or (known is not None and known is domain_of(other))


def sha256_of(file: Path) -> str:
    """The digest of a file. Raises MissingDataError when it cannot be read."""
    return _read_once(_sha256, file)


class RecordKind(NamedTuple):
    """What records are counted by; ``difficulty`` is empty where it is unknown."""

    names: Names
    difficulty: str


def counts_of(place: Place) -> Mapping[RecordKind, int]:
    """The numbers of records in a file by field, domain and difficulty. Raises
    MissingDataError."""
    return _read_once(_counts, place.file, place)


def _read_once(read: Callable[..., _T], file: Path, *given: Place) -> _T:
    """Read a file once in a process for all tasks, and again when it has changed."""
    try:
        state = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from None
    if time.time_ns() - state.st_mtime_ns < _SETTLED_NS:
        return read(*(given or (file,)))
    found: _T = _kept(
        read, given or (file,), (state.st_ino, state.st_size, state.st_mtime_ns)
    )
    return found


@lru_cache(maxsize=16384)
def _kept(
    read: Callable[..., _T], given: tuple[Any, ...], _state: tuple[int, int, int]
) -> _T:
    return read(*given)


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from None


def _counts(place: Place) -> Mapping[RecordKind, int]:
    return Counter(
        RecordKind(identity_of(record, place).names, difficulty_of(record.row, []))
        for record in read_records(place.file)
    )


def _unreadable(file: Path, error: OSError) -> MissingDataError:
    return MissingDataError(
        f"{file}: the records cannot be read ({error.strerror}); fetch the file again"
    )
