"""Reads the copy of MMMG on the hub: parquet files with instructions and media.

    category       the name of the instruction file
    instruction    the prompt (``instruction_para`` in the instruction files)
    image_0, image_1, ref_image_0 .. ref_image_3, audio_0    the media of a row, or null

The copy contains no fields for scoring. mmeval only uses the copy's media, for rows
with missing files. A row is found by its category and prompt. Some rows share both
(five groups, twelve rows in total). These rows are matched by their order, since the
copy has the same order as the instruction files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.dataset import cached_snapshot, parquet_file
from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Media

REPOSITORY = "UW-FMRL2/MMMG"

_COLUMN = {"image_list": "image", "audio_list": "audio", "ref_image_list": "ref_image"}
_KEYS = ("category", "instruction")
_BATCH_ROWS = 8
"""Number of rows in memory at a time, since a row with pictures takes megabytes."""


class PromptPlace(NamedTuple):
    """The position of a row by its prompt.

    ``turn`` is the number of earlier rows of the category with this prompt.
    """

    prompt: str
    turn: int


@dataclass(frozen=True)
class HubCopy:
    """The parquet files of the copy, in their order."""

    files: tuple[Path, ...]

    def has(self, category: str, place: PromptPlace) -> bool:
        """Returns True if the copy contains the row. The media are not read.

        Raises UsageError for a file that is not parquet or lacks the columns.
        """
        return place.turn < self._prompts[category, place.prompt]

    @cached_property
    def _prompts(self) -> Counter[tuple[str, str]]:
        """The number of rows for each category and prompt."""
        rows = self._rows(_KEYS)
        return Counter((row["category"], row["instruction"]) for row in rows)

    def media(self, category: str) -> CategoryMedia:
        media: dict[PromptPlace, dict[str, bytes]] = {}
        turns: Counter[str] = Counter()
        for row in self._rows((*_KEYS, *self._media_columns)):
            if row["category"] != category:
                continue
            prompt = row["instruction"]
            place = PromptPlace(prompt, turns[prompt])
            media[place] = {
                name: row[name] for name in self._media_columns if row[name]
            }
            turns[prompt] += 1
        return CategoryMedia(media)

    @cached_property
    def _media_columns(self) -> tuple[str, ...]:
        with parquet_file(self.files[0]) as table:
            names = table.schema_arrow.names
        fields = _COLUMN.values()
        return tuple(name for name in names if name.rstrip("0123456789")[:-1] in fields)

    def _rows(
        self,
        columns: tuple[str, ...],
    ) -> Iterator[dict[str, Any]]:
        for file in self.files:
            with parquet_file(file) as table:
                for key in _KEYS:
                    if key not in table.schema_arrow.names:
                        raise UsageError(
                            f"{file}: not a copy of MMMG: the column {key!r} is missing"
                        )
                for batch in table.iter_batches(
                    batch_size=_BATCH_ROWS, columns=list(columns), use_threads=False
                ):
                    for row in batch.to_pylist():
                        for name, value in row.items():
                            # Media are bytes, or a struct of bytes and path.
                            if isinstance(value, dict):
                                row[name] = value.get("bytes")
                        yield row


@dataclass(frozen=True)
class CategoryMedia:
    """The media of one category, kept in memory while its rows are read."""

    columns: Mapping[PromptPlace, Mapping[str, bytes]]

    def medium(
        self,
        place: PromptPlace,
        field: str,
        position: int,
        name: str,
    ) -> Media:
        """Returns the medium at a position of a row's list ``field``.

        The medium gets the name ``name``.

        Raises MissingDataError if the copy does not contain this medium.
        """
        column = f"{_COLUMN[field]}_{position}"
        data = self.columns.get(place, {}).get(column)
        if data is None:
            raise MissingDataError(
                f"the copy of {REPOSITORY} has no {column} of this row"
            )
        return Media.from_bytes(data, name)


def find_copy(folder: Path) -> HubCopy | None:
    """Finds the copy in the user's folder or in the hub's cache, or returns None.

    In the user's folder the copy is ``FOLDER/UW-FMRL2/MMMG``, where the hub's tool
    downloads it, or the folder itself.
    """
    places = [
        folder / REPOSITORY,
        folder,
        cached_snapshot(REPOSITORY, "main", "dataset"),
    ]
    for place in places:
        if place is None:
            continue
        files = {*place.glob("*.parquet"), *place.glob("data/*.parquet")}
        if files:
            return HubCopy(tuple(sorted(files)))
    return None
