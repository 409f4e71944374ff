"""Reads the answer files of ISG-Bench's own scripts, and their judge files, which hold the same lines.

    {"id": "0000", "output": [{"type": "text", "content": "..."}, {"type": "image", "content": "outputs/0000_g1.png"}]}

An ``output`` that is null or missing is an empty answer: the generation failed. A block whose file is not there keeps
its place without a medium, and one of an unknown type is a picture whose ``raw`` is that type; the answer says so.
Of an id that stands again the last line counts. Paths start from the file, else from the working directory. ``Query``
and ``Golden`` are those of the data set; where the texts of ``Query`` differ from them the answer says so.

What the layout has no place for is under our own key ``mmeval`` of a line, which those scripts do not read: the parts
of an answer that the blocks alone do not give back (``parts``, sealed to them by ``of``), a failure (``error``), and
the kinds that the model was not asked for (``left_out``). Further answers to the same questions are in
``outputs_repeat1.jsonl`` and so on.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import PART_KINDS, Interleaved, Media, Part, media_part, path_inside, text_part
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    Absent,
    AnswerPlace,
    StoredAnswer,
    error_of,
    exact_part,
    lines_of,
    medium_inside,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.records import Response, Sample, digest
from mmeval.wording import counted, some

OUTPUTS, REPEAT = "outputs.jsonl", "outputs_repeat{}.jsonl"
_REPEAT = re.compile(r"outputs_repeat([1-9][0-9]{0,3})\.jsonl")
MOST_NAMED = 3
"""Odd blocks of an answer that its warning names."""
OTHER_QUERY = "the file of answers has another query for this id than the data set"


class OutputLine(NamedTuple):
    """An answer: its number in the file, the blocks as written, the texts of its query (None: it has none), our key."""

    number: int
    blocks: tuple[Mapping[str, Any], ...]
    asked: tuple[str, ...] | None
    own: Mapping[str, Any]


class OutputFile(NamedTuple):
    """A file with its answers by id; ``remarks`` are about the lines that do not count."""

    path: Path
    lines: Mapping[str, OutputLine]
    remarks: tuple[str, ...]


def read_output(path: Path) -> OutputAnswers:
    """The answers of a file, or of a folder with ``outputs.jsonl``.
    Raises MissingDataError without answers, UsageError for a damaged file."""
    files = {0: path} if path.is_file() else _files(path)
    return OutputAnswers({repeat: _read(file) for repeat, file in files.items()})


def seal(blocks: Sequence[Mapping[str, Any]]) -> str:
    """A digest of blocks, so that parts of another answer are not used for these."""
    return digest([[block.get("type"), block.get("content")] for block in blocks])


class OutputAnswers:
    """The answers of one model by repeat, in memory; pictures are read on demand."""

    def __init__(self, files: Mapping[int, OutputFile]) -> None:
        self._files = files
        self._folder = files[0].path.parent

    @property
    def model(self) -> str:
        return model_of(read_manifest(self._folder), self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of the files and of all media that there are."""
        return digest([[file.path.name, *self._digests(file)] for file in self._files.values()])

    @property
    def counts(self) -> Mapping[str, int]:
        return {file.path.name: len(file.lines) for file in self._files.values()}

    @property
    def remarks(self) -> Sequence[str]:
        return [remark for file in self._files.values() for remark in file.remarks]

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:  # noqa: ARG002
        file = self._files.get(repeat)
        if file is None:
            return Absent(f"{self._folder} has no {REPEAT.format(repeat)}")
        line = file.lines.get(sample.id)
        if line is None:
            return Absent(f"{file.path} has no answer with the id {sample.id!r}")
        place = AnswerPlace(file.path.name, line.number)
        try:
            return StoredAnswer(place, self._response(file.path, line, sample))
        except MissingDataError as error:
            return Absent(f"{sample.id!r}: {error}", place)
        except UsageError as error:
            raise UsageError(f"{file.path}, id {sample.id!r}: {error}") from None

    def close(self) -> None:
        """Nothing is held open."""

    def _response(self, file: Path, line: OutputLine, sample: Sample) -> Response:
        """Raises MissingDataError for a missing medium, UsageError for an invalid answer."""
        own = line.own
        if "error" in own:
            return error_of(own["error"])
        left_out = tuple(kind for kind in PART_KINDS if kind in (own.get("left_out") or ()))
        if "parts" in own and own.get("of") == seal(line.blocks):
            parts, odd = [exact_part(part, lambda name: _medium(file, name)) for part in own["parts"]], list[str]()
        else:
            odd = []
            parts = [_part(block, file, odd) for block in line.blocks]
        other = [OTHER_QUERY] if line.asked is not None and line.asked != query_texts(sample) else []
        warnings = (*other, *([some(odd, MOST_NAMED)] if odd else []))
        return Response(output=Interleaved(tuple(parts)), left_out=left_out, warnings=warnings)

    def _digests(self, file: OutputFile) -> Iterator[str]:
        yield Media.from_path(file.path).sha256
        for line in file.lines.values():
            names = [block.get("content") for block in line.blocks if block.get("type") != "text"]
            names += [part.get("file") for part in line.own.get("parts", ()) if isinstance(part, dict)]
            for name in dict.fromkeys(name for name in names if isinstance(name, str)):
                with contextlib.suppress(MissingDataError, UsageError, OSError):
                    yield _medium(file.path, name).sha256


def query_texts(sample: Sample) -> tuple[str, ...]:
    """The texts of a question, block by block."""
    return tuple(part.text or "" for one in sample.input for part in one.content.parts if part.kind == "text")


def _files(folder: Path) -> dict[int, Path]:
    if not (folder / OUTPUTS).is_file():
        raise MissingDataError(f"{folder}: no {OUTPUTS}; name the file of the answers with path=")
    numbered = {int(found[1]): file for file in folder.iterdir() if (found := _REPEAT.fullmatch(file.name))}
    return {0: folder / OUTPUTS, **numbered}


def _read(file: Path) -> OutputFile:
    found: dict[str, OutputLine] = {}
    nameless = again = 0
    for number, line in enumerate(lines_of(file)):
        name = line.row.get("id")
        nameless += name is None
        if name is None:
            continue
        again += str(name) in found
        try:
            blocks = _blocks(line.row.get("output"))
            found[str(name)] = OutputLine(number, blocks, _asked(line.row.get("Query")), own_of(line.row))
        except UsageError as error:
            raise UsageError(f"{line.place}: {error}") from None
    remarks = (
        (nameless, f"{file}: {counted(nameless, 'answer')} without an id passed over"),
        (again, f"{file}: {counted(again, 'answer')} for an id that stands again; the last one counts"),
    )
    return OutputFile(file, found, tuple(words for count, words in remarks if count))


def _blocks(written: Any) -> tuple[Mapping[str, Any], ...]:
    blocks = [] if written is None else written
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise UsageError(f'"output" is {written!r:.80}; write a list of blocks, or null')
    return tuple(blocks)


def _asked(written: Any) -> tuple[str, ...] | None:
    if not isinstance(written, list):
        return None
    texts = (block.get("content") for block in written if isinstance(block, dict) and block.get("type") == "text")
    return tuple(text for text in texts if isinstance(text, str))


def _part(block: Mapping[str, Any], file: Path, odd: list[str]) -> Part:
    """A block as a part. A medium of which there is no file is a part without it; ``odd`` takes what is to be told."""
    kind, content = block.get("type"), block.get("content")
    if kind not in PART_KINDS:
        odd.append(f"a block of the unknown type {kind!r:.40}")
        return Part("image", raw=f"{kind!s:.40}")
    if kind in ("text", "code", "reasoning"):
        words = content if isinstance(content, str) else ""
        return text_part(words) if kind == "text" else Part(kind, text=words)
    if content is None:
        return Part(kind)
    try:
        return media_part(_medium(file, content), kind)
    except (MissingDataError, UsageError, OSError, TypeError):
        odd.append(f"{content!r:.80} is no file beside the answers")
        return Part(kind)


def _medium(file: Path, name: str) -> Media:
    """The medium at a path from the file, else from the working directory.
    Raises UsageError for a path that leads out of both, MissingDataError for a missing file."""
    root = next((root for root in (file.parent, Path.cwd()) if path_inside(root, name).is_file()), file.parent)
    return medium_inside(root, name)
