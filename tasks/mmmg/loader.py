"""The reader of MMMG's instruction files.

    seed_instruction/<file>.jsonl                one instruction a line
    seed_instruction/image/<file>_<k>.png        what the number k in ``image_list`` means
    seed_instruction/audio/<file>_<k>.wav        what the number k in ``audio_list`` means

``dataset_kwargs: {file: a_structure}`` says which file. The prompt is ``instruction_para``, followed by the row's
pictures and sounds. A row may also have a field of our own,

    "reference": {"response": "<audio_start><audio_0><audio_end> words", "image_list": [], "audio_list": [3]}

a right answer in the shape of a model's: the n-th number of a list is the file of the n-th placeholder, counted from
0. Published rows have none, and then the sample has no reference.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Part, text_part
from mmeval.dataset import DataSource
from mmeval.digest import DIGEST_CHARS
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.loaders.row_files import read_jsonl
from mmeval.media import Media, path_inside
from mmeval.records import Message, Sample

FOLDER = "seed_instruction"

_MEDIA_FILES = {"image": ("image", ".png"), "audio": ("audio", ".wav")}
_NOT_LABELS = ("instruction", "instruction_para", "image_list", "audio_list", "reference")
_FETCH = (
    "fetch the folder seed_instruction of the repository yaojh18/MMMG, name the folder above it with --data_dir, "
    "or try --data bundled"
)


class _Line(NamedTuple):
    number: int
    row: dict[str, Any]


@dataclass(frozen=True)
class MmmgDataset:
    """The rows of one instruction file, in its order. ``media`` is the folder that holds ``image/`` and ``audio/``."""

    file: Path
    media: Path

    @cached_property
    def fingerprint(self) -> str:
        """Covers the bytes of the instruction file."""
        with self.file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:DIGEST_CHARS]

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in _lines(self.file))

    def __iter__(self) -> Iterator[Sample]:
        for position, (number, row) in enumerate(_lines(self.file)):
            try:
                yield self._sample(position, row)
            except MissingDataError as error:
                raise MissingDataError(f"{self.file}:{number}: {error}; {_FETCH}") from None
            except UsageError as error:
                raise UsageError(f"{self.file}:{number}: {error}") from None

    def _sample(self, position: int, row: Mapping[str, Any]) -> Sample:
        name = self.file.stem
        given = self._media_of(row)
        prompt = (text_part(_text(row, "instruction_para")), *_beside(given))
        reference = row.get("reference")
        labels = {key: value for key, value in row.items() if key not in _NOT_LABELS}
        return Sample(
            id=f"{name}/{position}",
            input=(Message("user", Interleaved(prompt)),),
            references=() if reference is None else (self._reference(reference),),
            metadata={**labels, "file": name},
        )

    def _reference(self, reference: object) -> Interleaved:
        if not isinstance(reference, dict):
            raise UsageError("'reference' must be an object with 'response' and lists of files")
        return Interleaved.from_text(_text(reference, "response"), self._media_of(reference), spellings=("span",))

    def _media_of(self, row: Mapping[str, Any]) -> dict[str, Media]:
        """The media of a row's lists by label, counted from 0 per kind as the placeholders are."""
        return {
            f"{kind}{position}": self._medium(kind, number)
            for kind in _MEDIA_FILES
            for position, number in enumerate(_numbers(row, f"{kind}_list"))
        }

    def _medium(self, kind: str, number: int) -> Media:
        folder, suffix = _MEDIA_FILES[kind]
        return Media.from_path(path_inside(self.media, f"{folder}/{self.file.stem}_{number}{suffix}"))


def load(source: DataSource) -> MmmgDataset:
    """The rows of one instruction file of MMMG.

    Raises UsageError for options that name none, MissingDataError when it is not there.
    """
    name = _file_name(source.options)
    for folder in (source.folder / FOLDER, source.folder):
        file = path_inside(source.folder, str((folder / f"{name}.jsonl").relative_to(source.folder)))
        if file.is_file():
            return MmmgDataset(file, folder)
    raise MissingDataError(f"{source.folder}: no {FOLDER}/{name}.jsonl; {_FETCH}")


def _file_name(options: Mapping[str, Any]) -> str:
    for option in options:
        if option != "file":
            raise UnknownNameError("option of the loader 'mmmg'", option, ["file"], "It takes: file.")
    name = options.get("file")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_]+", name):
        raise UsageError(
            f"the loader 'mmmg' needs an instruction file, not {name!r}: dataset_kwargs: {{file: a_structure}}"
        )
    return name


def _lines(file: Path) -> Iterator[_Line]:
    """The rows of a file with their line numbers."""
    for row in read_jsonl(file):
        if not isinstance(row.values, dict):
            raise UsageError(f"{file}:{row.number}: the row is a {type(row.values).__name__}, not an object")
        yield _Line(row.number, row.values)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key!r} must be a text")
    return value


def _numbers(row: Mapping[str, Any], key: str) -> list[int]:
    numbers = row.get(key) or []
    if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
        raise UsageError(f"{key!r} must be a list of file numbers, counted from 0")
    return numbers


def _beside(media: Mapping[str, Media]) -> tuple[Part, ...]:
    """Media as parts that no placeholder in the text announces; the list that names a medium decides its kind."""
    return tuple(
        Part("image" if label.startswith("image") else "audio", media=item, label=label)
        for label, item in media.items()
    )
