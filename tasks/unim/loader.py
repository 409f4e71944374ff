"""Reads UniM's published layout.

    qapairs_placeholder/<field>/<k_domain>/...   records: JSON objects one after the other (*.jsonl, *.json)
    qapairs_caption/<field>/<k_domain>/...       the same records with captions in place of the media
    data/<field>/<domain>/...                    media

A folder with the records directly inside is read, too.
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
from mmeval.tasks.unim.data.files import Place
from mmeval.tasks.unim.data.folders import (
    CAPTION_FOLDER,
    RECORD_FOLDER,
    RecordKind,
    belongs,
    counts_of,
    may_hold,
    record_files,
    sha256_of,
    wanted_names,
)
from mmeval.tasks.unim.data.sample import identity_of, sample_of
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, domain_of
from mmeval.tasks.unim.labels import ANY, Names

VARIANTS = ("placeholder", "caption")


@dataclass(frozen=True)
class UnimDataset:
    """The samples of ``wanted`` or an unknown domain, ordered by file and record.

    ``files`` lie under ``records``, which is ``root`` or a folder in it; ``captions``
    are the files of the caption variant, under a folder of the same layout. With
    ``as_captions`` the questions are those of the caption variant.
    """

    root: Path
    records: Path
    files: tuple[Path, ...]
    wanted: Names = ANY
    captions: tuple[Path, ...] = ()
    as_captions: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the files of both variants.
        It is of their bytes, and of their paths, which may name field and domain."""
        files = [(file.relative_to(self.records), file) for file in self.files]
        files += [(file.relative_to(self.root), file) for file in self.captions]
        return digest([[path.as_posix(), sha256_of(file)] for path, file in files])

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(count for _, count in self._counts())

    def label_counts(self) -> Iterator[tuple[dict[str, str], int]]:
        """The numbers of samples by the labels of their fields, domains and levels."""
        for kind, count in self._counts():
            labels = {
                "field": kind.names.field,
                "domain": kind.names.domain,
                "difficulty": kind.difficulty,
            }
            yield {name: label for name, label in labels.items() if label}, count

    def _counts(self) -> Iterator[tuple[RecordKind, int]]:
        for file in self.files:
            for kind, count in counts_of(self._place(file)).items():
                if belongs(kind.names, self.wanted):
                    yield kind, count

    def __iter__(self) -> Iterator[Sample | BadRow]:
        """The samples; later ones with a repeated id get ``#2``, ``#3`` and so on
        added. Ids are known to be unique within a domain's file, not across the files
        of a domain."""
        seen = Counter[str]()
        captions = Captions(self.root, self.root / CAPTION_FOLDER, self.captions)
        for file in self.files:
            place = self._place(file)
            here = Counter[str]()
            for record in read_records(file):
                identity = identity_of(record, place)
                if not belongs(identity.names, self.wanted):
                    continue
                caption = None
                if self.records.name == CAPTION_FOLDER:
                    # data without variants: the record has its own captions
                    caption = caption_of(record)
                elif identity.known:
                    nth = here[str(identity)]
                    here[str(identity)] += 1
                    caption = captions.find(record, place, identity, nth)
                sample = sample_of(
                    record, place, identity, caption, as_captions=self.as_captions
                )
                own = sample.id
                while seen[own]:
                    seen[sample.id] += 1
                    own = f"{sample.id}#{seen[sample.id]}"
                seen[own] += 1
                yield sample if own == sample.id else replace(sample, id=own)
        captions.tell_missing()

    def _place(self, file: Path) -> Place:
        return Place(self.root, self.records, file)


def load(source: DataSource) -> UnimDataset:
    """The records of UniM's published layout, all or those of ``dataset_name``.

    The option ``variant`` is ``placeholder`` or ``caption``: then questions are asked
    with captions in place of their media. Raises MissingDataError without records,
    UnknownNameError for an unknown option or name.
    """
    source.check_options(("variant",))
    variant = source.options.get("variant", VARIANTS[0])
    if variant not in VARIANTS:
        raise UnknownNameError(
            "variant of UniM",
            str(variant),
            VARIANTS,
            f"There are {' and '.join(VARIANTS)}.",
        )
    as_captions = variant == "caption"
    captions = source.folder / CAPTION_FOLDER
    records = source.folder / RECORD_FOLDER
    if not records.is_dir():
        records = captions if as_captions and captions.is_dir() else source.folder
    files = record_files(records)
    if not files:
        raise MissingDataError(
            f"{source.folder}: no UniM records (*.jsonl or *.json under "
            f"{RECORD_FOLDER}/); "
            "name the folder of the downloaded data set with --data_dir, or try "
            "--data bundled"
        )
    wanted = wanted_names(source.name)
    opened = _near(records, files, wanted)
    if not opened and (wanted.field or domain_of(wanted.domain)):
        raise MissingDataError(
            f"{records}: no records of {source.name} are among the data"
        )
    if not opened:
        known = [*FIELDS, *(domain.name for domain in DOMAINS)]
        raise UnknownNameError("field or domain (dataset_name)", source.name, known)
    captioned: list[Path] = []
    if captions.is_dir() and captions != records:
        captioned = record_files(captions)
    near = _near(captions, captioned, wanted)
    return UnimDataset(source.folder, records, opened, wanted, near, as_captions)


def _near(
    folder: Path,
    files: Sequence[Path],
    wanted: Names,
) -> tuple[Path, ...]:
    """The files that may hold records of a field and domain."""
    return tuple(file for file in files if may_hold(file.relative_to(folder), wanted))
