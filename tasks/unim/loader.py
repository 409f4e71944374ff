"""The reader of UniM's published layout.

    qapairs_placeholder/<field>/<k_domain>/...   records: JSON objects one after the other (*.jsonl, *.json)
    data/<field>/<domain>/...                    media

A folder that holds the records directly is read as well. The caption variant (``qapairs_caption``) has the same
questions and is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mmeval.dataset import DataSource
from mmeval.digest import digest
from mmeval.errors import MissingDataError, UnknownNameError
from mmeval.media import path_inside
from mmeval.records import Sample
from mmeval.tasks.unim.concatenated_json import read_records
from mmeval.tasks.unim.sample import Place, sample_of

RECORD_FOLDER = "qapairs_placeholder"
_OTHER_FOLDERS = ("qapairs_caption", "data")
_SUFFIXES = (".jsonl", ".json")


@dataclass(frozen=True)
class UnimDataset:
    """Samples in the order of the files' paths, then of the records. ``files`` lie under ``records``, which is
    ``root`` or a folder in it."""

    root: Path
    records: Path
    files: tuple[Path, ...]

    @cached_property
    def fingerprint(self) -> str:
        """Covers the record files: their bytes, and their paths, which may name field and domain."""
        return digest([[file.relative_to(self.records).as_posix(), _sha256(file)] for file in self.files])

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for file in self.files for _ in read_records(file))

    def __iter__(self) -> Iterator[Sample]:
        """A later record with an id that was seen before gets ``#2``, ``#3`` and so on behind it: ids are known to be
        unique within a domain's file, not across the files of a domain."""
        seen: dict[str, int] = {}
        for file in self.files:
            place = Place(self.root, self.records, file)
            for record in read_records(file):
                sample = sample_of(record, place)
                seen[sample.id] = seen.get(sample.id, 0) + 1
                times = seen[sample.id]
                yield sample if times == 1 else replace(sample, id=f"{sample.id}#{times}")


def load(source: DataSource) -> UnimDataset:
    """The records of UniM's published layout.

    Raises MissingDataError when there are none, UnknownNameError for an option.
    """
    for option in source.options:
        raise UnknownNameError("option of the loader 'unim'", option, (), "It takes no dataset_kwargs.")
    records = source.folder / RECORD_FOLDER
    if not records.is_dir():
        records = source.folder
    files = tuple(_record_files(records))
    if not files:
        raise MissingDataError(
            f"{source.folder}: no UniM records (*.jsonl or *.json under {RECORD_FOLDER}/); "
            "name the folder of the downloaded data set with --data_dir, or try --data bundled"
        )
    return UnimDataset(source.folder, records, files)


def _record_files(records: Path) -> list[Path]:
    found = (path for path in records.rglob("*") if path.suffix.lower() in _SUFFIXES and path.is_file())
    kept = (path for path in found if _holds_records(path.relative_to(records).parts))
    return sorted((path_inside(records, str(path.relative_to(records))) for path in kept), key=Path.as_posix)


def _holds_records(parts: tuple[str, ...]) -> bool:
    return parts[0] not in _OTHER_FOLDERS and not any(part.startswith(".") for part in parts)


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise MissingDataError(f"{file}: the records cannot be read ({error.strerror}); fetch the file again") from None
