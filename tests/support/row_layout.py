"""A small row layout: ``[{"id": "1", "media": ["b.png"]}]`` in ``a.json``."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange.row_layout import (
    Find,
    Row,
    RowLayout,
    files_named,
    rows_of_list,
)
from mmeval.media import Interleaved, Part
from mmeval.records import Sample


def answer_in(row: Row, find: Find) -> Interleaved:
    names = row["media"]
    if not isinstance(names, list):
        raise UsageError("'media' is not a list")
    return Interleaved(tuple(Part("image", media=find(name)) for name in names))


def row_of(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    media = [] if output is None else output.media()
    return {"id": sample.id, "media": [files[medium.sha256] for medium in media]}


LAYOUT = RowLayout(
    files=partial(files_named, "a.json"),
    rows=rows_of_list,
    file_of=lambda _: "a.json",
    labels=frozenset(),
    answer=answer_in,
    row=row_of,
    sealed=lambda row: row["media"],
    media="media/{}_{}",
)
