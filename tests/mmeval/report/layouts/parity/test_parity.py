"""The tables of published numbers are those that their specification expects.

Rows and their order, printed cells and marks are compared exactly, but a printed mean
only to one unit of its last digit, since ties depend on the binary value.
"""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.cli import mmeval

CASES = Path(os.environ["MMEVAL_RESULTS_CASES"])
PLACE = ("table", "block", "row", "column")
Row = dict[str, str]


def expected(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def printed(layout: str, published: Path) -> list[Row]:
    """The cells without notes, marks of published rows, and quotes of formulas."""
    words = ("--published", published, "--layout", layout, "--format", "csv")
    left = mmeval("report", *words)
    assert left.code == 0, left.err
    rows = []
    for row in csv.DictReader(io.StringIO(left.out)):
        row["mark"] = row["mark"].replace("†", "").strip()
        row["row"] = row["row"].removeprefix("'")
        if row["column"] != "note":
            rows.append(row)
    return rows


def places(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in PLACE) for row in rows]


@pytest.mark.parametrize(
    "layout, published, cells",
    [
        ("isg", "published.csv", "expected.csv"),
        ("isg", "edges.csv", "edges_expected.csv"),
        ("mme_unify", "published.csv", "expected.csv"),
    ],
)
def test_the_cells_of_published_tables_are_as_expected(
    layout: str, published: str, cells: str
) -> None:
    wanted = expected(CASES / layout / cells)
    found = printed(layout, CASES / layout / published)
    assert places(found) == places(wanted)
    for row, want in zip(found, wanted, strict=True):
        where = [row[name] for name in PLACE]
        assert row["mark"] == want["mark"], where
        if not want["value"]:
            assert (row["value"], row["shown"]) == ("", want["shown"]), where
            continue
        value = pytest.approx(float(want["value"]), abs=1e-9, rel=1e-12)
        assert float(row["value"]) == value, where
        unit = 10.0 ** -len(want["shown"].partition(".")[2])
        shown = pytest.approx(float(want["shown"]), abs=1.01 * unit)
        assert float(row["shown"]) == shown, where
