"""Reads answers in UniM's layout (:mod:`mmeval.tasks.unim.output.layout`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    MANIFEST,
    AnswerPlace,
    LineSpan,
    MediaPaths,
    MediaRoot,
    MissingAnswer,
    StoredAnswer,
    TemporaryLines,
    error_of,
    files_digest,
    missing_remarks,
    model_of,
    read_manifest,
)
from mmeval.media import path_inside
from mmeval.records import Sample
from mmeval.system import to_line
from mmeval.tasks.unim.data.concatenated_json import read_records
from mmeval.tasks.unim.labels import FieldDomain
from mmeval.tasks.unim.output.layout import (
    AnswerKey,
    key_of,
    key_of_sample,
    same_question,
)
from mmeval.tasks.unim.output.record import (
    AnswerRecord,
    read_answer,
    read_key,
    record_file_in,
)

_SUFFIXES = (".jsonl", ".json")


def read_output(
    path: Path, any_instruction: bool = False, media_root: MediaRoot = ()
) -> UnimAnswers:
    """Reads the answers in a folder and its subfolders, or in one file.

    With ``any_instruction`` an answer is accepted even if its record contains another
    question. See :class:`mmeval.interchange.MediaPaths` for ``media_root``. Raises
    MissingDataError if there are no answers, and UsageError for files that must not be
    read.
    """
    media = MediaPaths(media_root)
    path = path.resolve()
    if path.is_file():
        return UnimAnswers(path.parent, [path], media, any_instruction=any_instruction)
    folder = path
    if not (path / MANIFEST).is_file():
        # Use the only export directly in the folder. Answers of models are never mixed.
        exports = sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
        if len(exports) > 1:
            raise UsageError(
                f"{path} contains answers of several models. Name one with path=: "
                f"{', '.join(map(str, exports))}"
            )
        if exports:
            folder = exports[0]
    files = []
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() not in _SUFFIXES or file.name == MANIFEST:
            continue
        is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not is_hidden and file.is_file():
            files.append(file)
    if not files and not read_manifest(folder).get("failed"):
        raise MissingDataError(
            f"{path} has no answer files <field>/<domain>/<name>.jsonl. Name their "
            "folder with path="
        )
    return UnimAnswers(folder, files, media, any_instruction=any_instruction)


_Key = tuple[AnswerKey, int]
"""Identifies an answer: its question, and the number of its repeat, from 0."""


class _StoredRecord(NamedTuple):
    """The position of a stored record, and its number among all answers."""

    span: LineSpan
    number: int
    where: str


class UnimAnswers:
    """The answers of a model, which are all checked first and later read one by one."""

    def __init__(
        self,
        folder: Path,
        files: Sequence[Path],
        media: MediaPaths,
        *,
        any_instruction: bool,
    ) -> None:
        self._folder, self._media = folder, media
        self._any_instruction = any_instruction
        self._manifest = read_manifest(folder)
        self._records = TemporaryLines()
        self._stored: dict[_Key, _StoredRecord] = {}
        self._broken: dict[_Key, tuple[str, int]] = {}
        self._failed: dict[_Key, tuple[Any, int]] = {}
        self._count = 0
        self._missing: list[str] = []
        self._remarks: list[str] = []
        for file in files:
            self._index(path_inside(folder, file.relative_to(folder).as_posix()))
        self._index_failures()
        self._remarks += missing_remarks(self._missing)

    @property
    def model(self) -> str:
        return model_of(self._manifest, self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of the answers in order, of their files, and of the failures."""
        names: set[str] = set()
        for key in self._stored:
            names.update(self._read(key).files)
        return files_digest(self._folder, sorted(names), self._heads())

    @property
    def counts(self) -> Mapping[str, int]:
        return {self._group: self._count}

    @property
    def remarks(self) -> Sequence[str]:
        return self._remarks

    def answer(
        self,
        task: str,  # noqa: ARG002
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        name = key_of_sample(sample)
        if name is None:
            return MissingAnswer(f"the sample {sample.id!r} is not a sample of UniM")
        key = (name, repeat)
        if key in self._stored:
            return self._answer(key, sample)
        if key in self._failed:
            error, number = self._failed[key]
            return StoredAnswer(AnswerPlace(self._group, number), error_of(error))
        if key in self._broken:
            reason, number = self._broken[key]
            return MissingAnswer(reason, AnswerPlace(self._group, number))
        return MissingAnswer(
            f"{self._folder} has no answer to {sample.id!r}, repeat {repeat}"
        )

    def _answer(self, key: _Key, sample: Sample) -> StoredAnswer | MissingAnswer:
        stored, record = self._stored[key], self._read(key)
        place = AnswerPlace(self._group, stored.number)
        if not (self._any_instruction or same_question(record.question, sample)):
            return MissingAnswer(
                f"{stored.where}: the record answers another question, "
                f"{record.question[:80]!r}. Set any_instruction=true to accept it"
            )
        try:
            return StoredAnswer(place, record.response(self._folder, self._media))
        except (UsageError, MissingDataError) as error:
            return MissingAnswer(f"{stored.where}: {error}", place)

    def close(self) -> None:
        self._records.close()

    @property
    def _group(self) -> str:
        return str(self._folder)

    def _read(self, key: _Key) -> AnswerRecord:
        return AnswerRecord.from_json(self._records.get(self._stored[key].span))

    def _heads(self) -> Iterator[bytes]:
        for key in sorted(self._stored):
            line = self._records.line(self._stored[key].span)
            yield to_line([*key[0], key[1]]) + line
            for name in self._read(key).moved:
                yield to_line([name, self._media.sha256(name, ())])
        for key, (error, _) in sorted(self._failed.items()):
            yield to_line([*key[0], key[1], error])
        for key, (reason, _) in sorted(self._broken.items()):
            yield to_line([*key[0], key[1], reason])

    def _index(self, file: Path) -> None:
        record_file = record_file_in(self._folder, file)
        faults: list[str] = []
        duplicates: list[str] = []
        count = 0
        for record in read_records(file):
            count += 1
            key = read_key(record, record_file)
            if key is not None and key in self._stored:
                duplicates.append(
                    f"{record.where} repeats the question of {self._stored[key].where}"
                )
                continue
            answer = read_answer(record, record_file, self._media)
            if answer.fault:
                faults.append(answer.fault)
            elif key is None:
                faults.append(
                    f"{record.where}: field, domain and id do not identify a question"
                )
            if key is None:
                continue
            if not answer.fault:
                broken = self._broken.pop(key, None)
                span = self._records.put(answer.to_json())
                number = self._next() if broken is None else broken[1]
                self._stored[key] = _StoredRecord(span, number, record.where)
                self._missing += answer.missing
            elif key not in self._broken:
                self._broken[key] = (answer.fault, self._next())
        if faults:
            self._remarks.append(
                f"records without an answer: {len(faults):,} of {count:,}. The first: "
                f"{faults[0]}"
            )
        if duplicates:
            self._remarks.append(
                f"repeated answers that are left out: {len(duplicates):,}. The first: "
                f"{duplicates[0]}"
            )

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _index_failures(self) -> None:
        """Reads the failures of an export from its manifest.

        Raises UsageError if they are damaged.
        """
        rows = self._manifest.get("failed", [])
        try:
            for row in rows:
                names = FieldDomain(str(row["field"]), str(row["domain"]))
                key = (key_of(names, str(row["id"])), int(row["repeat"]))
                error_of(row["error"])
                if key not in self._stored and key not in self._broken:
                    self._failed[key] = (row["error"], self._next())
        except (TypeError, KeyError, ValueError, AttributeError, UsageError):
            raise UsageError(
                f"{self._folder / MANIFEST}: 'failed' is damaged. Export the answers "
                "again"
            ) from None
