"""Reads MMMG's instruction files with their media.

    seed_instruction/<file>.jsonl                one instruction per line
    seed_instruction/image/<file>_<k>.png        the picture of number k in ``image_list`` or ``ref_image_list``
    seed_instruction/audio/<file>_<k>.wav        the sound of number k in ``audio_list``

``dataset_kwargs: {file: a_structure}`` names the file, or a list of files. ``having:
tempo`` selects the rows with this field. The prompt is ``instruction_para``, followed
by the pictures and sounds of the row. The pictures of ``ref_image_list`` are the
sample's reference, which models do not see. Missing media are read from the copy on the
hub (:mod:`mmeval.tasks.mmmg.hub_copy`). A row may also have the field ``reference``,
which is mmeval's own:

    "reference": {"response": "<audio_start><audio_0><audio_end> words", "image_list": [], "audio_list": [3]}

This field is a right answer in the form of a model's answer. The n-th number of a list,
counted from zero, names the file of placeholder n. Published rows do not have this
field. If a published row has a reference, the reference consists of the pictures that
the answer is compared with.
"""  # noqa: E501

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.dataset import BadRow, DataSource
from mmeval.errors import (
    MissingDataError,
    MmevalError,
    UsageError,
    message_of,
)
from mmeval.media import Interleaved, Media, Part, TagKind, path_inside, text_part
from mmeval.records import DIGEST_CHARS, Message, Sample
from mmeval.system.wording import listed
from mmeval.tasks.mmmg.hub_copy import CategoryMedia, HubCopy, PromptPlace, find_copy
from mmeval.tasks.mmmg.rows import (
    NUMBERED,
    PROMPT,
    PROMPT_MEDIA,
    REFERENCE,
    REFERENCE_PICTURES,
    RowLine,
    labels,
    lines,
    medium_file,
    numbers,
    text,
)

FOLDER = "seed_instruction"

_FETCH = (
    "fetch the folder seed_instruction of the repository yaojh18/MMMG and name its "
    "parent folder with --data_dir, or try --data bundled"
)
_OPTIONS = ("file", "having")
_NAME = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True)
class MmmgDataset:
    """The rows of instruction files, in order.

    ``media`` is the folder with ``image/`` and ``audio/``. ``copy`` supplies the media
    that are missing there.
    """

    files: tuple[Path, ...]
    media: Path
    having: str = ""
    copy: HubCopy | None = None

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the instruction files and of the row selection."""
        sha256 = hashlib.sha256()
        for file in self.files:
            sha256.update(file.read_bytes())
        sha256.update(self.having.encode())
        return sha256.hexdigest()[:DIGEST_CHARS]

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for file in self.files for _ in self._lines(file))

    def __iter__(self) -> Iterator[Sample | BadRow]:
        for file in self.files:
            reader = _RowReader(file, self.media, self.copy)
            for line in self._lines(file):
                yield reader.sample(line)

    def _lines(self, file: Path) -> Iterator[RowLine]:
        """Yields the selected lines.

        Damaged lines are kept, so that they can be reported.
        """
        return (
            line
            for line in lines(file)
            if not self.having or self.having in line.row or line.fault
        )

    def check_media(self) -> None:
        """Raises MissingDataError if neither the folder nor the copy contains a medium.

        Rows that cannot be read are skipped here and reported when they are read.
        """
        missing: list[str] = []
        for file in self.files:
            for line in self._lines(file):
                names = _missing_media(file, self.media, line.row)
                if names and (
                    self.copy is None or not self.copy.has(file.stem, _place(line))
                ):
                    missing += names
        if missing:
            raise MissingDataError(
                f"{self.media}: {listed(missing, 1)} missing, also in the copy on the "
                f"hub; {_FETCH}"
            )


def _place(line: RowLine) -> PromptPlace:
    return PromptPlace(str(line.row.get(PROMPT)), line.turn)


def _missing_media(
    file: Path,
    folder: Path,
    row: Mapping[str, Any],
) -> list[str]:
    """Returns the missing media files of a row, as paths below the folder."""
    missing = []
    for key, kind in NUMBERED.items():
        try:
            for number in numbers(row, key):
                name = medium_file(kind, file.stem, number)
                if not path_inside(folder, name).is_file():
                    missing.append(name)
        except MmevalError:  # reported with its line when the row is read
            continue
    return missing


class _RowReader:
    """Turns the rows of a file into samples. The copy is read on first use."""

    def __init__(
        self,
        file: Path,
        folder: Path,
        copy: HubCopy | None,
    ) -> None:
        self.file, self._folder, self._copy = file, folder, copy
        self._copied: CategoryMedia | None = None

    def sample(self, line: RowLine) -> Sample | BadRow:
        sample_id = f"{self.file.stem}/{line.position}"
        row_labels = {**labels(line.row), "file": self.file.stem}
        try:
            if line.fault:
                raise UsageError(line.fault)
            prompt, place = text(line.row, PROMPT), _place(line)
            media = self._prompt_media(line.row, place)
            message = Message(
                "user", Interleaved((text_part(prompt), *_media_parts(media)))
            )
            references: tuple[Interleaved, ...] = ()
            reference = line.row.get(REFERENCE)
            if reference is None:
                pictures = self._listed(line.row, REFERENCE_PICTURES, place)
                if pictures:
                    references = (Interleaved(_media_parts(pictures)),)
            elif isinstance(reference, dict):
                reference_media = self._prompt_media(reference, None)
                prompt = text(reference, "response")
                answer = Interleaved.from_text(
                    prompt, reference_media, spellings=("span",)
                )
                references = (answer,)
            else:
                raise UsageError(
                    "'reference' must be an object with 'response' and lists of files"
                )
            return Sample(sample_id, (message,), references, row_labels)
        except Exception as error:  # a faulty row must not stop the other rows
            advice = f"; {_FETCH}" if isinstance(error, MissingDataError) else ""
            where = f"{self.file}:{line.number}"
            reason = f"{message_of(error)}{advice}"
            return BadRow(where, reason, sample_id, row_labels)

    def _prompt_media(
        self, row: Mapping[str, Any], place: PromptPlace | None
    ) -> dict[str, Media]:
        media: dict[str, Media] = {}
        for key in PROMPT_MEDIA:
            media |= self._listed(row, key, place)
        return media

    def _listed(
        self, row: Mapping[str, Any], key: str, place: PromptPlace | None
    ) -> dict[str, Media]:
        """Returns the media of a row's list by label, numbered from 0."""
        kind = NUMBERED[key]
        media = {}
        for position, number in enumerate(numbers(row, key)):
            name = medium_file(kind, self.file.stem, number)
            file = path_inside(self._folder, name)
            if file.is_file() or self._copy is None or place is None:
                medium = Media.from_path(file)
            else:
                if self._copied is None:
                    self._copied = self._copy.media(self.file.stem)
                medium = self._copied.medium(place, key, position, name)
            media[f"{kind}{position}"] = medium
        return media


def load(source: DataSource) -> MmmgDataset:
    """Loads the rows of MMMG's instruction files.

    Raises UsageError for invalid options, and MissingDataError for a missing file or
    medium.
    """
    source.check_options(_OPTIONS)
    file_option = source.options.get("file")
    having = source.options.get("having", "")
    names: list[Any] = file_option if isinstance(file_option, list) else [file_option]
    are_named = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
    if not names or not are_named:
        raise UsageError(
            f"the loader 'mmmg' needs an instruction file, not {file_option!r}; write "
            f"dataset_kwargs: {{file: a_structure}}"
        )
    if not isinstance(having, str):
        raise UsageError(
            f"dataset_kwargs: having must name a field of the rows, not {having!r}"
        )
    root = source.folder
    for prefix in (f"{FOLDER}/", ""):
        files = [path_inside(root, f"{prefix}{name}.jsonl") for name in names]
        if all(file.is_file() for file in files):
            dataset = MmmgDataset(tuple(files), root / prefix, having, find_copy(root))
            dataset.check_media()
            return dataset
    missing = [
        name for name in names if not (root / FOLDER / f"{name}.jsonl").is_file()
    ]
    named = missing[0] if missing else names[0]
    raise MissingDataError(f"{root}: no {FOLDER}/{named}.jsonl; {_FETCH}")


def _media_parts(media: Mapping[str, Media]) -> tuple[Part, ...]:
    """Returns media as parts without placeholders. The label determines the kind."""
    parts = []
    for label, medium in media.items():
        kind: TagKind = "image" if label.startswith("image") else "audio"
        parts.append(Part(kind, media=medium, label=label))
    return tuple(parts)
