"""Check UniM's published tables for consistency: `python -m scripts.check_unim_tables
TABLES.csv`.

``scripts/unim_published.csv`` has the numbers of the paper's tables 3 to 5 and 25 to
30. Such a file has a line for each model and row, under the header ``model``, ``row``
and any of the columns below, in percent as they are printed. A row is a domain (its
number or its name) or a field; a cell may be empty. Differences beyond rounding are
printed.

- a relative number is tau times the absolute one (rows of domains; those of fields are
  separate means)
- ICS is .8 HC + .2 SH
- the number of a field is the mean of its ten domains (where all of them are there)
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mmeval.report.markdown import cell, table_lines
from mmeval.tasks.unim.domains import DOMAINS, FIELDS

PRODUCTS = ("SQCS", "StS", "LeS", "ICS")
COLUMNS = (
    "tau",
    "SC",
    "GQ",
    *(f"{name} {kind}" for name in PRODUCTS for kind in ("abs", "rel")),
    "HC",
    "SH",
)
WEIGHT = 0.8
HALF = 0.05
"""The rounding error of a printed number, which has one decimal."""
_EPSILON = 1e-6

Cells = Mapping[str, float]
"""The numbers of a row by column."""


class Row(NamedTuple):
    """A printed row. ``name`` is the number of a domain, or the word of a field."""

    model: str
    name: str
    cells: Cells

    @property
    def is_domain(self) -> bool:
        return self.name not in FIELDS


class Compared(NamedTuple):
    """A cell and its recomputed value. ``rounding`` is the largest difference between
    numbers that agree."""

    model: str
    name: str
    column: str
    rule: str
    printed: float
    recomputed: float
    rounding: float

    @property
    def agrees(self) -> bool:
        return abs(self.printed - self.recomputed) <= self.rounding + _EPSILON


class Unreadable(ValueError):
    """A file that is no such table."""


def compared(rows: Iterable[Row]) -> Iterator[Compared]:
    """Recompute every cell that follows from others, row by row, and then by field."""
    listed = list(rows)
    for row in listed:
        yield from _in_row(row)
    for row in listed:
        if not row.is_domain:
            own = {str(domain.number) for domain in DOMAINS if domain.field == row.name}
            parts = [
                part for part in listed if part.model == row.model and part.name in own
            ]
            if len(parts) == len(own):
                yield from _of_domains(row, parts)


def _in_row(row: Row) -> Iterator[Compared]:
    model, name, cells = row
    for product in PRODUCTS if row.is_domain else ():
        columns = ("tau", f"{product} abs", f"{product} rel")
        if all(column in cells for column in columns):
            tau, absolute, relative = (cells[column] for column in columns)
            rounding = HALF * (1 + (tau + absolute) / 100)
            yield Compared(
                model,
                name,
                columns[-1],
                "tau x abs",
                relative,
                tau * absolute / 100,
                rounding,
            )
    if all(column in cells for column in ("HC", "SH", "ICS abs")):
        both = WEIGHT * cells["HC"] + (1 - WEIGHT) * cells["SH"]
        yield Compared(
            model, name, "ICS abs", ".8 HC + .2 SH", cells["ICS abs"], both, 2 * HALF
        )


def _of_domains(row: Row, parts: Sequence[Row]) -> Iterator[Compared]:
    for column, printed in row.cells.items():
        values = [part.cells[column] for part in parts if column in part.cells]
        if len(values) == len(parts):
            mean = sum(values) / len(values)
            yield Compared(
                row.model, row.name, column, "mean of domains", printed, mean, 2 * HALF
            )


def read_tables(file: Path) -> list[Row]:
    """The rows of a file. Raises Unreadable with the faulty line."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened)
        unknown = {_column(name) for name in reader.fieldnames or ()} ^ {"model", "row"}
        if not unknown <= set(COLUMNS):
            raise Unreadable(
                f"{file}: the header has 'model', 'row' and any of {', '.join(COLUMNS)}"
            )
        return [_row(line, f"{file}:{reader.line_num}") for line in reader]


def _row(line: Mapping[str | None, str | None], where: str) -> Row:
    given = {_column(name): (text or "").strip() for name, text in line.items() if name}
    try:
        cells = {
            column: float(given[column])
            for column in COLUMNS
            if given.get(column, "") not in ("", "N/A", "-")
        }
    except ValueError as error:
        raise Unreadable(f"{where}: {error}") from None
    name = _name(given["row"])
    if not name:
        raise Unreadable(
            f"{where}: {given['row']!r} is no domain of UniM, by number or name, and "
            "no field"
        )
    return Row(given["model"], name, cells)


def _column(header: str) -> str:
    return header.strip().replace("_", " ")


def _name(written: str) -> str:
    """The number of a domain, or the word of a field; empty for what is neither."""
    words = written.strip().lower().replace(" ", "_")
    for domain in DOMAINS:
        if words in (
            str(domain.number),
            domain.title.lower().replace(" ", "_"),
            *domain.words,
        ):
            return str(domain.number)
    return words if words in FIELDS else ""


def report(found: Sequence[Compared]) -> str:
    """How many cells agree, and those that do not as a table."""
    others = [one for one in found if not one.agrees]
    said = (
        f"{len(found) - len(others)} of {len(found)} numbers that can be recomputed "
        "agree, up to rounding.\n"
    )
    if not others:
        return said
    headers = ["Model", "Row", "Column", "Rule", "Printed", "Recomputed", "Off by"]
    rows = [
        [
            *map(cell, (one.model, one.name, one.column, one.rule)),
            f"{one.printed:.1f}",
            f"{one.recomputed:.2f}",
            f"{one.printed - one.recomputed:+.2f}",
        ]
        for one in others
    ]
    table = table_lines(headers, rows, right_aligned=frozenset(headers[4:]))
    return "\n".join([said, *table, ""])


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> int:
    if len(words) != 1:
        sys.stderr.write("usage: python -m scripts.check_unim_tables TABLES.csv\n")
        return 2
    try:
        rows = read_tables(Path(words[0]))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(report(list(compared(rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
