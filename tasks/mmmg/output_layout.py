"""The layout of answers in MMMG's own scripts: the folder ``output/<model>/``.

    <file>.jsonl            an answer a line; <file> is the instruction file
    image/<file>_<k>.png    what the number k in ``image_list`` means; k counts through all answers of the file
    audio/<file>_<k>.wav    what the number k in ``audio_list`` means

The answers to the first instruction come first, then those to the second, as many to
each. A line has ``response``, a text whose placeholder i
(``<image_start><image_i><image_end>``, from 0) stands for the i-th number of the line's
own list, ``image_list`` and ``audio_list``; ``query`` may repeat the instruction.

Everything without a place in the layout is kept where those scripts do not look, under
our own names:

    the key ``mmeval`` of a line    {"parts": [...], "of": "..."}: the parts of an answer that its line does not say by
                                    itself; {"error": {...}}: the model failed; {"absent": true}: not asked
    other/<file>_<k>.<suffix>       media of other kinds
    mmeval.json                     whose answers they are, and how many to each instruction of a file (``generations``)
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
"""Answers to each instruction by default."""
OTHER: Literal["other"] = "other"

_SPELLINGS = ("span",)
_ID = re.compile(r"(?P<file>[a-z0-9_]+)/(?P<row>[0-9]{1,9})")
_LABEL = re.compile(r"(?P<kind>image|audio)(?P<number>[0-9]{1,9})")


class RowPlace(NamedTuple):
    """The instruction file of a sample, and its row there, counted from 0."""

    file: str
    row: int


@dataclass(frozen=True)
class Flat:
    """An answer as written in a line: the response, and the media of each list."""

    response: str
    media: Mapping[TagKind, Sequence[Media]] = field(default_factory=dict)


def place_of(sample: Sample) -> RowPlace | None:
    """The place of a sample; None for other benchmarks."""
    match = _ID.fullmatch(sample.id)
    if match is None or sample.metadata.get("file") != match["file"]:
        return None
    return RowPlace(match["file"], int(match["row"]))


def seal(response: str, numbers: Mapping[TagKind, Sequence[int]]) -> str:
    """A digest of a line, so that parts of another answer are not used for this one."""
    lists = [list(numbers.get(kind, ())) for kind in SUFFIXES]
    return digest([response, *lists])


def read_flat(flat: Flat) -> Interleaved:
    """The answer in a line alone."""
    labelled = {}
    for kind, items in flat.media.items():
        for number, medium in enumerate(items):
            labelled[f"{kind}{number}"] = medium
    return Interleaved.from_text(flat.response, labelled, spellings=_SPELLINGS)


def flattened(output: Interleaved) -> Flat:
    """An answer in the form of a line. It has its own words if their placeholders are
    numbered as in the layout, else renumbered placeholders. Hidden reasoning and media
    of other kinds are left out."""
    as_written = _as_numbered(output)
    if as_written is not None and read_flat(as_written) == output:
        return as_written
    return _numbered_anew(output)


def _as_numbered(output: Interleaved) -> Flat | None:
    """The lists by the numbers of the labels; None if these are not 0, 1, 2, ..."""
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
    return Flat(output.text, media)


def _numbered_anew(output: Interleaved) -> Flat:
    media: dict[TagKind, list[Media]] = {kind: [] for kind in SUFFIXES}
    numbers: dict[tuple[str, str], int] = {}
    numbered: list[tuple[Part, int | None]] = []
    for place, part in enumerate(output.parts):
        number = None
        if part.media is not None and part.kind in media:
            key = (part.label or f"@{place}", part.media.sha256)
            items = media[part.kind]
            if key not in numbers:
                numbers[key] = len(items)
                items.append(part.media)
            number = numbers[key]
        numbered.append((part, number))

    # Placeholders without a medium are numbered after all others, so that they do not
    # get a medium.
    lengths = {kind: len(items) for kind, items in media.items()}
    words = []
    for part, number in numbered:
        if part.kind == "reasoning":
            continue
        if part.kind not in SUFFIXES:
            words.append(part.raw)
        elif number is not None:
            words.append(render(part.kind, number + 1, "span"))
        elif part.dangling and any(find(part.raw, _SPELLINGS)):
            lengths[part.kind] += 1
            words.append(render(part.kind, lengths[part.kind], "span"))
        else:
            words.append(part.raw)
    return Flat("".join(words), media)
