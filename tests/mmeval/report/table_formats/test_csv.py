import csv
import io
from typing import Any

import pytest

from tests.support.stored_runs import ONE, TWO, document, result, table


def lines(*documents: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table("csv", *documents))))


def test_csv_has_every_number_with_all_fields() -> None:
    rows = lines(ONE, TWO)
    assert [
        tuple(row[name] for name in ("run", "slice", "value", "ci95_low", "n", "notes"))
        for row in rows
    ] == [
        ("one", "", "0.5", "0.25", "4", ""),
        ("two", "", "0.75", "", "4", ""),
        ("one", "level=50% & \\more{}", "", "", "4", "4 unscored"),
        ("two", "level=50% & \\more{}", "", "", "", "no number"),
    ]
    assert (
        rows[0]["compares_with_first"],
        "protocol" in rows[1]["compares_with_first"],
    ) == ("yes", True)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "\uff1d1", "a,b", 'a"b', "a\nb"]
)
def test_no_text_is_a_formula_or_a_row_of_its_own(text: str) -> None:
    (row,) = lines(document(result("t", metric=text)))
    assert row["metric"] == (
        f"'{text}" if text[0] in "=+-@\uff1d" else text.replace("\n", " ")
    )
