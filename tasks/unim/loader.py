"""Reads UniM's published layout.

    qapairs_placeholder/<field>/<k_domain>/...   records: concatenated JSON objects (*.jsonl, *.json)
    qapairs_caption/<field>/<k_domain>/...       the same records with captions in place of media
    data/<field>/<domain>/...                    media

The records may also be directly in the folder.
"""  # noqa: E501

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mmeval.dataset import BadRow, DataSource
from mmeval.errors import MissingDataError, UnknownNameError
from mmeval.records import Sample, digest
from mmeval.tasks.unim.data.captions import Captions, caption_of
from mmeval.tasks.unim.data.concatenated_json import read_records
from mmeval.tasks.unim.data.files import RecordFile
from mmeval.tasks.unim.data.folders import (
    CAPTION_FOLDER,
    RECORD_FOLDER,
    RecordKind,
    belongs,
    counts_of,
    may_hold,
    record_files,
    selected_names,
    sha256_of,
)
from mmeval.tasks.unim.data.sample import identity_of, sample_of
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, domain_of
from mmeval.tasks.unim.labels import ANY, FieldDomain

VARIANTS = ("placeholder", "caption")


@dataclass(frozen=True)
class UnimDataset:
    """The samples of the selected field and domain, ordered by file and record.

    Samples with an unknown domain are included. ``files`` are in the folder
    ``records``, which is ``root`` or inside it. ``captions`` are the files of the
    caption variant, in a folder with the same layout. With ``as_captions`` the
    questions come from the caption variant.
    """

    root: Path
    records: Path
    files: tuple[Path, ...]
    selected: FieldDomain = ANY
    captions: tuple[Path, ...] = ()
    as_captions: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """The digest of both variants' files.

        The digest covers their bytes, and their paths, which may contain field and
        domain.
        """
        files = [(file.relative_to(self.records), file) for file in self.files]
        files += [(file.relative_to(self.root), file) for file in self.captions]
        return digest([[path.as_posix(), sha256_of(file)] for path, file in files])

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(count for _, count in self._counts())

    def label_counts(self) -> Iterator[tuple[dict[str, str], int]]:
        """Yields the number of samples for each field, domain and difficulty."""
        for kind, count in self._counts():
            labels = {
                "field": kind.names.field,
                "domain": kind.names.domain,
                "difficulty": kind.difficulty,
            }
            yield {name: label for name, label in labels.items() if label}, count

    def _counts(self) -> Iterator[tuple[RecordKind, int]]:
        for file in self.files:
            for kind, count in counts_of(self._record_file(file)).items():
                if belongs(kind.names, self.selected):
                    yield kind, count

    def __iter__(self) -> Iterator[Sample | BadRow]:
        """Yields the samples.

        If several samples have the same id, ``#2``, ``#3`` and so on are appended to
        the ids of all but the first. Ids are unique within a file, but not across the
        files of a domain.
        """
        id_counts = Counter[str]()
        captions = Captions(self.root, self.root / CAPTION_FOLDER, self.captions)
        for file in self.files:
            record_file = self._record_file(file)
            identity_counts = Counter[str]()
            for record in read_records(file):
                identity = identity_of(record, record_file)
                if not belongs(identity.names, self.selected):
                    continue
                caption = None
                if self.records.name == CAPTION_FOLDER:
                    # In data without variants the record itself contains the captions.
                    caption = caption_of(record)
                elif identity.known:
                    nth = identity_counts[str(identity)]
                    identity_counts[str(identity)] += 1
                    caption = captions.find(record, record_file, identity, nth)
                sample = sample_of(
                    record, record_file, identity, caption, as_captions=self.as_captions
                )
                unique_id = sample.id
                while id_counts[unique_id]:
                    id_counts[sample.id] += 1
                    unique_id = f"{sample.id}#{id_counts[sample.id]}"
                id_counts[unique_id] += 1
                is_new = unique_id == sample.id
                yield sample if is_new else replace(sample, id=unique_id)
        captions.warn_missing()

    def _record_file(self, file: Path) -> RecordFile:
        return RecordFile(self.root, self.records, file)


def load(source: DataSource) -> UnimDataset:
    """Loads the records in UniM's published layout.

    With ``dataset_name`` only the records of a field or domain are loaded. The option
    ``variant`` is ``placeholder`` or ``caption``. With ``caption`` the questions have
    captions in place of media. Raises MissingDataError if there are no records, and
    UnknownNameError for an unknown option or name.
    """
    source.check_options(("variant",))
    variant = source.options.get("variant", VARIANTS[0])
    if variant not in VARIANTS:
        raise UnknownNameError(
            "variant of UniM",
            str(variant),
            VARIANTS,
            f"Choose {' or '.join(VARIANTS)}.",
        )
    as_captions = variant == "caption"
    captions = source.folder / CAPTION_FOLDER
    records = source.folder / RECORD_FOLDER
    if not records.is_dir():
        records = captions if as_captions and captions.is_dir() else source.folder
    files = record_files(records)
    if not files:
        raise MissingDataError(
            f"{source.folder} has no UniM records (*.jsonl or *.json under "
            f"{RECORD_FOLDER}/). Name the folder of the downloaded data set with "
            "--data_dir, or try --data bundled"
        )
    selected = selected_names(source.name)
    selected_files = _selected_files(records, files, selected)
    if not selected_files and (selected.field or domain_of(selected.domain)):
        raise MissingDataError(f"{records}: the data have no records of {source.name}")
    if not selected_files:
        known_names = [*FIELDS, *(domain.name for domain in DOMAINS)]
        raise UnknownNameError(
            "field or domain (dataset_name)", source.name, known_names
        )
    caption_files: list[Path] = []
    if captions.is_dir() and captions != records:
        caption_files = record_files(captions)
    selected_captions = _selected_files(captions, caption_files, selected)
    return UnimDataset(
        source.folder, records, selected_files, selected, selected_captions, as_captions
    )


def _selected_files(
    folder: Path,
    files: Sequence[Path],
    selected: FieldDomain,
) -> tuple[Path, ...]:
    """Returns the files that may contain records of a field and domain."""
    return tuple(file for file in files if may_hold(file.relative_to(folder), selected))
