"""Reads the answers of the samples files that ``--log_samples`` writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.interchange.contract import AnswerPlace, MissingAnswer, StoredAnswer
from mmeval.interchange.recorded import (
    error_of,
    kinds_of,
    parts_of,
    question_of,
    read_or_missing,
    recorded_question,
)
from mmeval.records.digests import DIGEST_CHARS
from mmeval.records.response import Response, finish_reason_from
from mmeval.records.sample import Sample
from mmeval.system.foreign_lines import line_at, lines_of
from mmeval.system.wording import file_name

_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl")


class _SampleLine(NamedTuple):
    """The entry of a sample in the index of a samples file.

    It contains the offset of the sample's line, the digest of its question, and the
    number of its first answer.
    """

    offset: int
    question: str
    first: int
    repeats: int


class _SamplesFile:
    """A samples file, indexed by the ids of its samples."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, _SampleLine] = {}
        self.count = 0
        for line in lines_of(path):
            answers = line.row.get("parts")
            document = line.row.get("doc")
            name = document.get("id") if isinstance(document, dict) else None
            if not isinstance(name, str) or not isinstance(answers, list):
                raise UsageError(
                    f"{line.place}: not a line of a samples file of mmeval; it needs "
                    "doc and parts"
                )
            try:
                question = recorded_question(document, path.parent / "media")
            except UsageError as error:
                raise UsageError(f"{line.place}: {error}") from None
            if document.get("fault"):  # this sample was not sent
                continue
            repeats = len(answers)
            self.rows[name] = _SampleLine(line.offset, question, self.count, repeats)
            self.count += repeats

    def response(self, row: _SampleLine, repeat: int) -> Response:
        """Reads an answer. Raises UsageError or MissingDataError if this fails."""
        values = line_at(self.path, row.offset)
        parts = _nth(values, "parts", repeat)
        if parts is None:
            return error_of(_nth(values, "error", repeat))
        return Response(
            output=parts_of(parts, self.path.parent / "media"),
            finish_reason=finish_reason_from(_nth(values, "finish_reason", repeat)),
            warnings=tuple(map(str, _nth(values, "warnings", repeat) or ())),
            left_out=kinds_of(_nth(values, "left_out", repeat)),
        )


def _nth(
    values: Mapping[str, Any],
    key: str,
    repeat: int,
) -> Any:
    """Returns the value of one repeat in a line. Its type depends on the key."""
    items = values.get(key)
    return items[repeat] if isinstance(items, list) and repeat < len(items) else None


class SamplesAnswers:
    """The newest samples file of each task, or a single file for all tasks."""

    model = ""

    def __init__(self, paths: Sequence[Path]) -> None:
        newest: dict[str, Path] = {}
        for path in sorted(paths, key=lambda path: path.name):
            match = _NAME.fullmatch(path.name)
            newest[match["task"] if match else path.stem] = path
        self._single = len(paths) == 1
        self._files = {name: _SamplesFile(path) for name, path in newest.items()}
        self.remarks: list[str] = []
        if len(newest) < len(paths):
            self.remarks.append(
                f"of {len(paths)} samples files, only the newest of each task is read"
            )

    @cached_property
    def digest(self) -> str:
        sha256 = hashlib.sha256()
        for name, file in sorted(self._files.items()):
            with file.path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
                sha256.update(f"{name}:{content}".encode())
        return sha256.hexdigest()[:DIGEST_CHARS]

    @property
    def counts(self) -> Mapping[str, int]:
        return {name: file.count for name, file in self._files.items()}

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        name = next(iter(self._files)) if self._single else file_name(task)
        file = self._files.get(name)
        if file is None:
            return MissingAnswer(
                f"no samples file of {task}; there are files of: "
                f"{', '.join(self._files)}"
            )
        row = file.rows.get(sample.id)
        if row is None or repeat >= row.repeats:
            return MissingAnswer(
                f"{file.path} has no answer to {sample.id!r}, repeat {repeat}"
            )
        if row.question != question_of(sample):
            return MissingAnswer(
                f"{file.path} has an answer to {sample.id!r}, but to another question"
            )
        return read_or_missing(
            AnswerPlace(name, row.first + repeat),
            f"{sample.id!r}, repeat {repeat}",
            partial(file.response, row, repeat),
            where="line",
        )

    def close(self) -> None:
        """Does nothing, because no file is kept open."""
