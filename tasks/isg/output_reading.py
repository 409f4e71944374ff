"""Reads the answer files of ISG-Bench's own scripts, and their judge files, which hold
the same lines.

    {"id": "0000", "output": [{"type": "text", "content": "..."}, {"type": "image", "content": "outputs/0000_g1.png"}]}

An ``output`` that is null or missing is an empty answer: the generation failed. A block
whose file is missing keeps its place without a medium, and one of an unknown type is
a picture whose ``raw`` is that type; the answer says so. ``Query`` and ``Golden`` are
those of the data set; where the texts of ``Query`` differ from them the answer says so.
Further answers to the same questions are in ``outputs_repeat1.jsonl`` and so on. All
else is as :mod:`mmeval.interchange.by_id` says.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import (
    MEDIA_KINDS,
    PART_KINDS,
    Interleaved,
    Media,
    Part,
    media_part,
    text_part,
)
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    AnswersById,
    MediaPaths,
    MediaRoot,
    files_of,
    lines_of,
    read_entries,
)
from mmeval.records import Sample, digest
from mmeval.wording import listed

OUTPUTS, REPEAT = "outputs.jsonl", "outputs_repeat{}.jsonl"
MOST_NAMED = 3
"""Odd blocks of an answer that its warning names."""
OTHER_QUERY = "the file of answers has another query for this id than the data set"


class OutputLine(NamedTuple):
    """An answer: the blocks as written, and the texts of its query (None: it has
    none)."""

    blocks: tuple[Mapping[str, Any], ...]
    asked: tuple[str, ...] | None


def read_output(path: Path, media_root: MediaRoot = ()) -> OutputAnswers:
    """The answers of a file, or of a folder with ``outputs.jsonl``.
    ``media_root``: see :class:`mmeval.interchange.MediaPaths`. Raises MissingDataError
    without answers, UsageError for a damaged file."""
    media = MediaPaths(media_root)
    files = files_of(path, OUTPUTS, REPEAT).items()
    rows = {
        repeat: ((line.place, line.row) for line in lines_of(file))
        for repeat, file in files
    }
    return OutputAnswers(
        {repeat: read_entries(file, rows[repeat], _line) for repeat, file in files},
        REPEAT,
        media=media,
    )


def seal(blocks: Sequence[Mapping[str, Any]]) -> str:
    """A digest of blocks, so that parts of another answer are not used for these."""
    return digest([[block.get("type"), block.get("content")] for block in blocks])


class OutputAnswers(AnswersById[OutputLine]):
    """The answers of one model."""

    def seal(self, answer: OutputLine) -> str:
        return seal(answer.blocks)

    def paths(self, answer: OutputLine) -> Iterator[str]:
        names = (
            block.get("content")
            for block in answer.blocks
            if block.get("type") in MEDIA_KINDS
        )
        return (name for name in names if isinstance(name, str))

    def plain(
        self, answer: OutputLine, medium: Callable[[str], Media]
    ) -> tuple[Interleaved, tuple[str, ...]]:
        odd: list[str] = []
        parts = tuple(_part(block, medium, odd) for block in answer.blocks)
        return Interleaved(parts), ((listed(odd, MOST_NAMED),) if odd else ())

    def warnings(self, answer: OutputLine, sample: Sample) -> tuple[str, ...]:
        return (
            (OTHER_QUERY,)
            if answer.asked is not None and answer.asked != query_texts(sample)
            else ()
        )


def query_texts(sample: Sample) -> tuple[str, ...]:
    """The texts of a question, block by block."""
    return tuple(
        part.text or ""
        for one in sample.input
        for part in one.content.parts
        if part.kind == "text"
    )


def _line(row: Mapping[str, Any]) -> OutputLine:
    return OutputLine(_blocks(row.get("output")), _asked(row.get("Query")))


def _blocks(written: Any) -> tuple[Mapping[str, Any], ...]:
    blocks = [] if written is None else written
    if not isinstance(blocks, list) or not all(
        isinstance(block, dict) for block in blocks
    ):
        raise UsageError(
            f'"output" is {written!r:.80}; write a list of blocks, or null'
        )
    return tuple(blocks)


def _asked(written: Any) -> tuple[str, ...] | None:
    if not isinstance(written, list):
        return None
    texts = (
        block.get("content")
        for block in written
        if isinstance(block, dict) and block.get("type") == "text"
    )
    return tuple(text for text in texts if isinstance(text, str))


def _part(
    block: Mapping[str, Any], medium: Callable[[str], Media], odd: list[str]
) -> Part:
    """A block as a part. A medium of which there is no file is a part without it;
    ``odd`` takes what is to be told."""
    kind, content = block.get("type"), block.get("content")
    if kind not in PART_KINDS:
        odd.append(f"a block of the unknown type {kind!r:.40}")
        return Part("image", raw=f"{kind!s:.40}")
    if kind in ("text", "code", "reasoning"):
        words = content if isinstance(content, str) else ""
        return text_part(words) if kind == "text" else Part(kind, text=words)
    if content is None:
        return Part(kind)
    if not isinstance(content, str):
        odd.append(f"{content!r:.80} is not a path")
        return Part(kind)
    try:
        return media_part(medium(content), kind)
    except MissingDataError as error:
        odd.append(f"a file of the answer is missing: {error}")
        return Part(kind)
