"""Reads answers in MMMG's layout (:mod:`mmeval.tasks.mmmg.output_layout`)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    MANIFEST,
    AnswerPlace,
    MediaPaths,
    MediaRoot,
    MissingAnswer,
    StoredAnswer,
    error_of,
    exact_files,
    exact_part,
    files_digest,
    kinds_of,
    line_at,
    lines_of,
    missing_remarks,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.media import Interleaved, Media, TagKind, path_inside
from mmeval.records import Response, Sample
from mmeval.tasks.mmmg.output_layout import (
    GENERATIONS,
    OTHER,
    LineAnswer,
    place_of,
    read_line_answer,
    seal,
)
from mmeval.tasks.mmmg.rows import SUFFIXES, medium_file, numbers


def read_output(
    path: Path,
    generations: int | None = None,
    any_instruction: bool = False,
    media_root: MediaRoot = (),
) -> MmmgAnswers:
    """Reads the answers in ``output/<model>``.

    ``generations`` is the number of answers per instruction. The default is the number
    in ``mmeval.json``, or 4. With ``any_instruction`` an answer is accepted even if its
    line quotes another instruction. :class:`mmeval.interchange.MediaPaths` describes
    ``media_root``. Raises MissingDataError if there are no answers, and UsageError for
    damaged answers.
    """
    if generations is not None and generations < 1:
        raise UsageError(f"generations={generations}: must be at least 1")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; name the folder output/<model> with path=")
    folders = [path]
    if not any(path.glob("*.jsonl")):
        folders = sorted({file.parent for file in path.glob("*/*.jsonl")})
    if not folders:
        raise MissingDataError(
            f"{path}: no answer files <file>.jsonl; name the folder output/<model> "
            "with path="
        )
    if len(folders) > 1:
        raise UsageError(
            f"{path} contains answers of several models; name one with path=: "
            f"{', '.join(map(str, folders))}"
        )
    return MmmgAnswers(
        folders[0],
        generations,
        MediaPaths(media_root),
        any_instruction=any_instruction,
    )


class MmmgAnswers:
    """The answers of a model.

    The answers are checked when this object is made, and read on demand.
    """

    def __init__(
        self,
        folder: Path,
        generations: int | None,
        media: MediaPaths,
        *,
        any_instruction: bool,
    ) -> None:
        self._folder, self._media = folder, media
        self._generations = generations
        self._any_instruction = any_instruction
        self._manifest = read_manifest(
            folder, f"remove it, and set generations=N if it is not {GENERATIONS}"
        )
        self._offsets: dict[str, array[int]] = {}
        self._counts: dict[str, int] = {}
        self._missing: list[str] = []
        self._moved: list[str] = []
        for file in sorted(folder.glob("*.jsonl")):
            self._index(path_inside(folder, file.name))

    @property
    def model(self) -> str:
        return model_of(self._manifest, self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of all files that the answers depend on (lines and media)."""
        names = [f"{file}.jsonl" for file in self._offsets]
        if (self._folder / MANIFEST).is_file():
            names.append(MANIFEST)
        inside = MediaPaths()
        for kind in (*SUFFIXES, OTHER):
            for file in sorted((self._folder / kind).glob("*")):
                name = f"{kind}/{file.name}"
                if inside.has(name, (self._folder,)):
                    names.append(name)
        moved = (
            f"{name}:{self._media.sha256(name, ())}\n".encode()
            for name in dict.fromkeys(self._moved)
        )
        return files_digest(self._folder, names, moved)

    @property
    def counts(self) -> Mapping[str, int]:
        return self._counts

    @property
    def remarks(self) -> Sequence[str]:
        uneven = []
        for file, offsets in self._offsets.items():
            repeats = self._repeats(file)
            if len(offsets) % repeats:
                uneven.append(
                    f"{self._folder / file}.jsonl: {len(offsets)} lines are not "
                    f"{repeats} answers per instruction; complete the file, or set "
                    "generations=N"
                )
        return [*uneven, *missing_remarks(self._missing)]

    def answer(
        self,
        task: str,  # noqa: ARG002
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        place = place_of(sample)
        if place is None:
            return MissingAnswer(
                f"the sample {sample.id!r} is not a row of MMMG's instruction files"
            )
        offsets = self._offsets.get(place.file)
        repeats = self._repeats(place.file)
        name = f"{place.file}.jsonl"
        if offsets is None:
            return MissingAnswer(f"{self._folder} has no {name}")
        if repeat >= repeats:
            return MissingAnswer(
                f"{name} has {repeats} answers per instruction; use --repeats {repeats}"
            )
        number = place.row * repeats + repeat
        if number >= len(offsets):
            return MissingAnswer(
                f"{name} ends after {len(offsets)} answers, before {sample.id!r}, "
                f"repeat {repeat}"
            )
        row = line_at(self._folder / name, offsets[number])
        has_answer = False
        try:
            if own_of(row).get("absent"):
                raise MissingDataError("the exported run had no answer")
            self._check_instruction(row, sample)
            has_answer = True
            response = self._response(place.file, row)
        except MissingDataError as error:
            return MissingAnswer(
                f"{sample.id!r}, repeat {repeat}: {error}",
                AnswerPlace(place.file, number) if has_answer else None,
            )
        except UsageError as error:
            raise UsageError(
                f"{self._folder / name}, answer {number}: {error}"
            ) from None
        return StoredAnswer(AnswerPlace(place.file, number), response)

    def close(self) -> None:
        """Does nothing, since no file stays open."""

    def _response(self, file: str, row: Mapping[str, Any]) -> Response:
        """Returns the response in a row.

        Raises MissingDataError for missing media, and UsageError for an invalid answer.
        """
        extra = own_of(row)
        if "error" in extra:
            return error_of(extra["error"])
        if _is_exact(row):
            parts = [exact_part(part, self._medium) for part in extra["parts"]]
            output = Interleaved(tuple(parts))
        else:
            media = {}
            for kind, file_numbers in _listed(row).items():
                names = [medium_file(kind, file, number) for number in file_numbers]
                media[kind] = [self._medium(name) for name in names]
            output = read_line_answer(LineAnswer(row["response"], media))
        return Response(output=output, left_out=kinds_of(extra.get("left_out")))

    def _check_instruction(self, row: Mapping[str, Any], sample: Sample) -> None:
        query = row.get("query")
        instruction = query.get("instruction") if isinstance(query, dict) else None
        if self._any_instruction or not isinstance(instruction, str):
            return
        if instruction.split() != sample.question.split():
            raise MissingDataError(
                f"the line answers another instruction, {instruction[:80]!r}; accept "
                "it with any_instruction=true"
            )

    def _medium(self, name: str) -> Media:
        return self._media.find(name, (self._folder,))

    def _index(self, file: Path) -> None:
        offsets, count = array("q"), 0
        for line in lines_of(file):
            row = line.row
            try:
                if not isinstance(row.get("response"), str):
                    raise UsageError("'response' must be a string")
                lists = _listed(row)
                extra = own_of(row)
            except UsageError as error:
                raise UsageError(f"{line.place}: {error}") from None
            offsets.append(line.offset)
            names: list[str] = []
            if extra.get("absent"):
                continue
            count += 1
            if "error" in extra:
                continue
            if _is_exact(row):
                names = exact_files(extra)
            else:
                for kind, file_numbers in lists.items():
                    names += [
                        medium_file(kind, file.stem, number) for number in file_numbers
                    ]
            for name in names:
                if self._media.is_moved(name):
                    self._moved.append(name)
                elif not self._media.has(name, (self._folder,)):
                    self._missing.append(name)
        self._offsets[file.stem], self._counts[file.stem] = offsets, count

    def _repeats(self, file: str) -> int:
        if self._generations is not None:
            return self._generations
        generations = self._manifest.get("generations")
        count = generations.get(file) if isinstance(generations, dict) else None
        return count if type(count) is int and count > 0 else GENERATIONS


def _listed(row: Mapping[str, Any]) -> dict[TagKind, list[int]]:
    """Returns the numbers of a line's media by kind.

    Raises UsageError if the numbers are invalid.
    """
    return {kind: numbers(row, f"{kind}_list") for kind in SUFFIXES}


def _is_exact(row: Mapping[str, Any]) -> bool:
    """Returns True if the line contains its answer's exact parts under mmeval's key."""
    extra = own_of(row)
    return "parts" in extra and extra.get("of") == seal(row["response"], _listed(row))
