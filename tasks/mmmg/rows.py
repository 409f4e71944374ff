"""Reads the rows of MMMG's instruction files, and their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.interchange import lines_of
from mmeval.media import TagKind

PROMPT, SEED = "instruction_para", "instruction"
"""The fields with the prompt, and with the sentence that the prompt was made from.
Models do not see this sentence."""

NUMBERED: Mapping[str, TagKind] = {
    "image_list": "image",
    "audio_list": "audio",
    "ref_image_list": "image",
}
"""The fields with numbers of media files, and their kinds."""

PROMPT_MEDIA = ("image_list", "audio_list")
"""The fields with the media of the prompt."""
REFERENCE_PICTURES = "ref_image_list"
"""The field with the pictures that the answer is compared with. Models do not see
them."""

SUFFIXES: Mapping[TagKind, str] = {"image": ".png", "audio": ".wav"}
"""The suffixes of numbered media files, by kind."""
_MAX_NUMBER = 10**9

REFERENCE = "reference"
"""The field with a right answer. Only rows written for mmeval have this field."""

_NOT_LABELS = (PROMPT, SEED, REFERENCE, *NUMBERED)


class RowLine(NamedTuple):
    """A row with its line ``number`` (from 1) and its ``position`` (from 0).

    ``turn`` is the number of earlier rows with the same prompt. If a line is faulty,
    ``fault`` says why and the row is empty.
    """

    number: int
    position: int
    turn: int
    row: dict[str, Any]
    fault: str = ""


def lines(file: Path) -> Iterator[RowLine]:
    """Yields the rows of a file.

    Blank lines are skipped. A faulty line is yielded with its ``fault``.
    """
    prompts: Counter[str] = Counter()
    for position, (_, number, _, row) in enumerate(
        lines_of(file, kind=None, faults=True)
    ):
        if isinstance(row, dict):
            prompt = str(row.get(PROMPT))
            yield RowLine(number, position, prompts[prompt], row)
            prompts[prompt] += 1
        else:
            fault = f"the line is a {type(row).__name__}, not an object"
            if isinstance(row, UsageError):
                fault = str(row)
            yield RowLine(number, position, 0, {}, fault)


def labels(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the labels of a row: all fields except prompts and lists of media."""
    return {name: value for name, value in row.items() if name not in _NOT_LABELS}


def text(row: Mapping[str, Any], key: str) -> str:
    """Returns the text in a field. Raises UsageError for anything else."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key!r} must be a string that is not empty")
    return value


def numbers(row: Mapping[str, Any], key: str) -> list[int]:
    """Returns the file numbers in a field.

    The result is empty if the field is missing. Raises UsageError if the numbers are
    invalid.
    """
    values = row.get(key) or []
    if not isinstance(values, list) or not all(
        type(value) is int and 0 <= value < _MAX_NUMBER for value in values
    ):
        raise UsageError(f"{key!r} must be a list of file numbers, counted from 0")
    return values


def medium_file(
    kind: TagKind,
    file: str,
    number: int,
) -> str:
    """Returns a numbered medium's path below the folder of instructions or answers.

    >>> medium_file("image", "i_edit_text", 3)
    'image/i_edit_text_3.png'
    """
    return f"{kind}/{file}_{number}{SUFFIXES[kind]}"
