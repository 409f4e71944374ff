"""The layout of answers in MMMG's scripts: the folder ``output/<model>/``.

    <file>.jsonl            one answer per line; <file> is the instruction file
    image/<file>_<k>.png    the picture of number k in ``image_list``; k counts through all answers of the file
    audio/<file>_<k>.wav    the sound of number k in ``audio_list``

The answers are in the order of the instructions, and each instruction has the same
number of answers. A line contains ``response``, a text with placeholders. Placeholder i
(``<image_start><image_i><image_end>``, from 0) refers to the i-th number of the line's
``image_list`` or ``audio_list``. ``query`` may repeat the instruction.

Everything that the layout cannot express is kept where the scripts do not read it:

    the key ``mmeval`` of a line    {"parts": [...], "of": "..."}: the parts of an answer that the line cannot express;
                                    {"error": {...}}: the model failed; {"absent": true}: not asked
    other/<file>_<k>.<suffix>       media of other kinds
    mmeval.json                     the model, and the number of answers to each instruction of a file (``generations``)
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mmeval.media import Interleaved, Media, Part, TagKind, find, render
from mmeval.records import Sample, digest
from mmeval.tasks.mmmg.rows import SUFFIXES

GENERATIONS = 4
"""The default number of answers per instruction."""
OTHER: Literal["other"] = "other"

_SPELLINGS = ("span",)
_ID = re.compile(r"(?P<file>[a-z0-9_]+)/(?P<row>[0-9]{1,9})")
_LABEL = re.compile(r"(?P<kind>image|audio)(?P<number>[0-9]{1,9})")


class RowPlace(NamedTuple):
    """The instruction file of a sample, and its row, counted from 0."""

    file: str
    row: int


@dataclass(frozen=True)
class LineAnswer:
    """The answer in a line: the response, and the media of each list."""

    response: str
    media: Mapping[TagKind, Sequence[Media]] = field(default_factory=dict)


def place_of(sample: Sample) -> RowPlace | None:
    """Returns the position of a sample in its file.

    The result is None for a sample of another benchmark.
    """
    match = _ID.fullmatch(sample.id)
    if match is None or sample.metadata.get("file") != match["file"]:
        return None
    return RowPlace(match["file"], int(match["row"]))


def seal(response: str, numbers: Mapping[TagKind, Sequence[int]]) -> str:
    """Computes the digest of a line.

    The digest ties the exact parts of an answer to this line.
    """
    lists = [list(numbers.get(kind, ())) for kind in SUFFIXES]
    return digest([response, *lists])


def read_line_answer(line_answer: LineAnswer) -> Interleaved:
    """Reads the answer that a line expresses, without exact parts."""
    labelled = {}
    for kind, items in line_answer.media.items():
        for number, medium in enumerate(items):
            labelled[f"{kind}{number}"] = medium
    return Interleaved.from_text(line_answer.response, labelled, spellings=_SPELLINGS)


def line_answer_of(output: Interleaved) -> LineAnswer:
    """Converts an answer to the form of a line.

    Placeholders are renumbered if the layout would number them differently. Hidden
    reasoning and media of other kinds are left out.
    """
    as_written = _as_numbered(output)
    if as_written is not None and read_line_answer(as_written) == output:
        return as_written
    return _renumbered(output)


def _as_numbered(output: Interleaved) -> LineAnswer | None:
    """Returns the media in the order of their numbers.

    The result is None if the numbers are not 0, 1, 2, and so on.
    """
    numbered: dict[TagKind, dict[int, Media]] = {kind: {} for kind in SUFFIXES}
    for part in output.parts:
        if part.media is None:
            continue
        match = _LABEL.fullmatch(part.label)
        if match is None or match["kind"] != part.kind or part.kind not in numbered:
            return None
        number = int(match["number"])
        if numbered[part.kind].setdefault(number, part.media) != part.media:
            return None
    media: dict[TagKind, list[Media]] = {}
    for kind, items in numbered.items():
        numbers = sorted(items)
        if numbers != list(range(len(items))):
            return None
        media[kind] = [items[number] for number in numbers]
    return LineAnswer(output.text, media)


def _renumbered(output: Interleaved) -> LineAnswer:
    media: dict[TagKind, list[Media]] = {kind: [] for kind in SUFFIXES}
    numbers: dict[tuple[str, str], int] = {}
    numbered: list[tuple[Part, int | None]] = []
    for position, part in enumerate(output.parts):
        number = None
        if part.media is not None and part.kind in media:
            key = (part.label or f"@{position}", part.media.sha256)
            items = media[part.kind]
            if key not in numbers:
                numbers[key] = len(items)
                items.append(part.media)
            number = numbers[key]
        numbered.append((part, number))

    # Placeholders without a medium get the last numbers, so that no medium has their
    # numbers.
    lengths = {kind: len(items) for kind, items in media.items()}
    pieces = []
    for part, number in numbered:
        if part.kind == "reasoning":
            continue
        if part.kind not in SUFFIXES:
            pieces.append(part.raw)
        elif number is not None:
            pieces.append(render(part.kind, number + 1, "span"))
        elif part.dangling and any(find(part.raw, _SPELLINGS)):
            lengths[part.kind] += 1
            pieces.append(render(part.kind, lengths[part.kind], "span"))
        else:
            pieces.append(part.raw)
    return LineAnswer("".join(pieces), media)
