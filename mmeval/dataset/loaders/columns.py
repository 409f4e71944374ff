"""Makes samples from rows with any columns, by the templates of ``columns``.

Templates refer to columns by name. In such a name, ``_`` replaces each character that
Jinja does not allow, and is appended to a reserved word of Jinja. A medium becomes a
part at its position in the template. A template that is only the name of a column means
``{{ column }}``. If ``input`` is a column of messages, their roles are kept. Columns
without media also become labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mmeval.dataset.contract import BadRow
from mmeval.dataset.loaders.messages import is_messages, read_messages
from mmeval.errors import UsageError, did_you_mean, message_of
from mmeval.media.decode.template import literal
from mmeval.media.embedded import medium_inside
from mmeval.media.media import Media
from mmeval.media.media_type import UNKNOWN_MIME
from mmeval.media.parts import Interleaved
from mmeval.media.written import ContentReader, Resolve
from mmeval.program.template import PartsTemplate, Value
from mmeval.records.sample import Message, Sample

ReadCell = Callable[[str, Any], Value]
"""``read_cell(column, value)`` converts a cell to a value for templates. It raises
UsageError for a cell that cannot be converted."""

_CONTENTS = ("input", "reference")
_RESERVED = ("False", "None", "True", "false", "none", "not", "self", "true")
"""Reserved words of Jinja."""
_SINGLE_COLUMN = re.compile(r"\{\{\s*(\w+)\s*(\|\s*literal\s*)?\}\}")
_NO_MEDIA = (UNKNOWN_MIME, "text/plain")
"""MIME types of bytes that are not a medium."""


class ColumnTemplates:
    """The templates of ``columns``, compiled for the columns of one data set.

    ``place`` names the data in messages. Raises UsageError for an invalid template.
    """

    def __init__(
        self, columns: Mapping[str, Any], column_names: Iterable[str], place: str
    ) -> None:
        self._place = place
        self._names = self._names_of(column_names)
        if "input" not in columns and "messages" in self._names:
            columns = {**columns, "input": "messages"}
        if "input" not in columns:
            raise UsageError(
                f"{place}: columns: input is missing; its template may use "
                f"{', '.join(self._names.values())}",
                name="columns",
            )
        self._references = [
            self._template("references", text)
            for text in texts_in(columns.get("references"))
        ]
        labels = {key: value for key, value in columns.items() if key != "references"}
        self._constants = {
            key: value for key, value in labels.items() if not isinstance(value, str)
        }
        self._templates = {
            key: self._template(key, text)
            for key, text in labels.items()
            if isinstance(text, str)
        }

    def sample(
        self,
        row: Mapping[str, Any] | UsageError,
        position: int,
        read_cell: ReadCell,
        resolve: Resolve,
    ) -> Sample | BadRow:
        """Returns the sample of a row.

        ``position`` is the number of the row, from 1. ``resolve`` finds the media of
        messages.
        """
        labels: dict[str, Any] = {}
        name = str(position)
        try:
            if isinstance(row, UsageError):
                raise row
            all_columns = {**dict.fromkeys(self._names), **row}
            cells = {key: read_cell(key, value) for key, value in all_columns.items()}
            values: dict[str, Value] = {}
            for key, cell in cells.items():
                if not _has_media(cell):
                    labels[key] = cell
                values[self._names.get(key, key)] = "" if cell is None else cell
            rendered_labels = dict(self._constants)
            for key, template in self._templates.items():
                if key not in _CONTENTS:
                    rendered_labels[key] = template.value(values)
            labels |= rendered_labels
            if "id" in self._templates:
                name = str(labels.pop("id"))
            return self._sample_of(name, cells, values, labels, resolve)
        # a fault of one row must not stop the other rows
        except Exception as error:
            where = f"{self._place}: row {position}"
            return BadRow(where, message_of(error), name, labels)

    def _sample_of(
        self,
        name: str,
        cells: Mapping[str, Value],
        values: Mapping[str, Value],
        labels: dict[str, Any],
        resolve: Resolve,
    ) -> Sample:
        contents: list[Interleaved] = []
        if "reference" in self._templates:
            contents.append(self._templates["reference"].render(values))
        for template in self._references:
            contents += template.contents(values)
        references = [content for content in contents if content.rendered().strip()]

        column = self._messages_column(cells)
        if column:
            # the media of all columns are numbered in the order of the columns
            media: dict[str, Media] = {}
            counts = Counter[str]()
            for part in _media_parts(cells.values()):
                counts[part.kind] += 1
                media[f"{part.kind}{counts[part.kind]}"] = part.media
            reader = ContentReader(resolve, media)
            conversation = read_messages(literal(cells[column]), reader, column)
            reader.check_all_named()
            prompt = conversation.asked
            has_references = self._references or "reference" in self._templates
            if conversation.answer is not None and not has_references:
                references.append(conversation.answer)
            labels.pop(column, None)
        else:
            prompt = (Message("user", self._templates["input"].render(values)),)
        _check_texts(prompt, references, cells)
        return Sample(name, prompt, tuple(references), labels)

    def _messages_column(self, cells: Mapping[str, Value]) -> str:
        """Returns the column of messages that ``input`` names, or an empty string."""
        match = _SINGLE_COLUMN.fullmatch(self._templates["input"].source.strip())
        if match is None:
            return ""
        for column, name in self._names.items():
            if name == match[1]:
                cell = cells.get(column)
                value = literal(cell) if match[2] else cell
                return column if is_messages(value) else ""
        return ""

    def _names_of(self, columns: Iterable[str]) -> dict[str, str]:
        """Returns the name by which templates refer to each column."""
        names: dict[str, str] = {}
        for column in columns:
            name = re.sub(r"\W|^(?=\d)", "_", column)
            name = f"{name}_" if name in _RESERVED else name
            if name in names.values():
                earlier = next(
                    key for key, template_name in names.items() if template_name == name
                )
                raise UsageError(
                    f"{self._place}: the columns {earlier!r} and {column!r} are both "
                    f"{name} in templates"
                )
            names[column] = name
        return names

    def _template(self, key: str, source: str) -> PartsTemplate:
        is_word = (
            key in ("input", "reference", "references", "id")
            and "{" not in source
            and source not in self._names
        )
        # a misspelled column would become the same text in every row
        if is_word and (near := did_you_mean(source, self._names)):
            raise UsageError(
                f"{self._place}: columns.{key}: unknown column {source!r}{near}",
                name=f"columns.{key}",
            )
        if source in self._names:
            source = f"{{{{ {self._names[source]} }}}}"
        try:
            return PartsTemplate(source, tuple(self._names.values()), of_rows=True)
        except UsageError as error:
            raise UsageError(
                f"{self._place}: columns.{key}: {error}", name=f"columns.{key}"
            ) from None


def texts_in(value: Any) -> Iterator[str]:
    """Yields the strings in a YAML value, also from its lists and mappings."""
    if isinstance(value, str):
        yield value
        return
    items = value.values() if isinstance(value, Mapping) else value
    for item in items if isinstance(items, Iterable) else ():
        yield from texts_in(item)


def _has_media(value: Value) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_media, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_media, value))
    return isinstance(value, Interleaved)


def _media_parts(cells: Iterable[Value]) -> Iterator[Any]:
    """Yields a part for each medium in cells that are a medium or a list of media."""
    for cell in cells:
        contents = cell if isinstance(cell, (list, tuple)) else [cell]
        for content in contents:
            if not isinstance(content, Interleaved):
                continue
            for part in content.parts:
                if part.media is not None:
                    yield part


def _check_texts(
    prompt: Iterable[Message],
    references: Iterable[Interleaved],
    cells: Mapping[str, Value],
) -> None:
    """Raises UsageError for base64 media in a text, and for bytes of unknown type."""
    contents = [message.content for message in prompt]
    for content in (*contents, *references):
        for medium in content.media("document"):
            if medium.data is not None and medium.mime in _NO_MEDIA:
                raise UsageError(
                    "a column has bytes that are not a medium; store texts as strings, "
                    "or name the column in dataset_kwargs: {media_columns: [COLUMN]}"
                )
        kind = medium_inside(content.words)
        if not kind:
            continue
        holder, column_name = "a text", "COLUMN"
        for column, cell in cells.items():
            if isinstance(cell, str) and medium_inside(cell):
                holder, column_name = f"the column {column!r}", column
                break
        raise UsageError(
            f"{holder} contains a medium ({kind}) as base64; write dataset_kwargs: "
            f"{{media_columns: [{column_name}]}}"
        )
