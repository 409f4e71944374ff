"""The rows of MMMG's instruction files, and their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import UsageError
from mmeval.interchange import lines_of
from mmeval.media import TagKind

PROMPT, SEED = "instruction_para", "instruction"
"""The fields of the prompt, and of the sentence that it was made from, which no model
is shown."""

NUMBERED: Mapping[str, TagKind] = {
    "image_list": "image",
    "audio_list": "audio",
    "ref_image_list": "image",
}
"""The fields with numbers of media files, each with their kind."""

GIVEN = ("image_list", "audio_list")
"""The media of the prompt."""
SHOULD_BE = "ref_image_list"
"""The pictures that the answer is compared with; no model is shown them."""

SUFFIXES: Mapping[TagKind, str] = {"image": ".png", "audio": ".wav"}
"""The kinds of numbered media files, each with the end of their names."""
_MAX_NUMBER = 10**9

REFERENCE = "reference"
"""A right answer, only in our own rows."""

_NOT_LABELS = (PROMPT, SEED, REFERENCE, *NUMBERED)


class Line(NamedTuple):
    """One row: its line (``number``, from 1), its place (``position``, from 0).
    ``turn`` counts the rows before it that have the same prompt; a line with a
    ``fault`` has an empty row."""

    number: int
    position: int
    turn: int
    row: dict[str, Any]
    fault: str = ""


def lines(file: Path) -> Iterator[Line]:
    """The file's rows without blank lines. Raises UsageError if one is not JSON."""
    prompts: Counter[str] = Counter()
    for position, (_, number, _, row) in enumerate(
        lines_of(file, kind=None, faults=True)
    ):
        if isinstance(row, dict):
            prompt = str(row.get(PROMPT))
            yield Line(number, position, prompts[prompt], row)
            prompts[prompt] += 1
        else:
            fault = f"the line is a {type(row).__name__}, not an object"
            if isinstance(row, UsageError):
                fault = str(row)
            yield Line(number, position, 0, {}, fault)


def labels(row: Mapping[str, Any]) -> dict[str, Any]:
    """The labels for metrics: all fields but prompts and lists of media."""
    return {name: value for name, value in row.items() if name not in _NOT_LABELS}


def text(row: Mapping[str, Any], key: str) -> str:
    """The text in a field. Raises UsageError for anything else."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key!r} must be a text")
    return value


def numbers(row: Mapping[str, Any], key: str) -> list[int]:
    """The numbers of media files in a field, if any. Raises UsageError if invalid."""
    found = row.get(key) or []
    if not isinstance(found, list) or not all(
        type(n) is int and 0 <= n < _MAX_NUMBER for n in found
    ):
        raise UsageError(f"{key!r} must be a list of file numbers, counted from 0")
    return found


def medium_file(
    kind: TagKind,
    file: str,
    number: int,
) -> str:
    """The path of a numbered medium below the folder of instructions or answers.

    >>> medium_file("image", "i_edit_text", 3)
    'image/i_edit_text_3.png'
    """
    return f"{kind}/{file}_{number}{SUFFIXES[kind]}"
