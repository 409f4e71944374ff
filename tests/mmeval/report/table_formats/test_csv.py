import csv
import io

import pytest

from tests.support.number_documents import ONE, TWO, document, result, table


def test_csv_has_every_number_with_all_fields() -> None:
    rows = list(csv.DictReader(io.StringIO(table("csv", ONE, TWO))))
    assert [(row["run"], row["slice"], row["value"], row["ci95_low"]) for row in rows] == [
        ("one", "", "0.5", "0.25"),
        ("two", "", "0.75", ""),
        ("one", "level=50% & \\more{}", "", ""),
        ("two", "level=50% & \\more{}", "", ""),
    ]
    assert [(row["n"], row["notes"]) for row in rows[2:]] == [("4", "4 unscored"), ("", "no number")]
    assert rows[1]["compares_with_first"] == "a was asked by the protocol None, now by episode"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\uff1d1", "a,b", 'a"b', "a\nb"])
def test_no_text_is_a_formula_or_a_row_of_its_own(text: str) -> None:
    (row,) = csv.DictReader(io.StringIO(table("csv", document(result("t", metric=text)))))
    assert row["metric"] == (f"'{text}" if text[0] in "=+-@\uff1d" else text.replace("\n", " "))


def test_each_line_has_the_notes_of_its_own_run() -> None:
    one = document(result("a", scored=3, failed=1))
    two = document(result("a", scored=2, unscored=2))
    assert [row["notes"] for row in csv.DictReader(io.StringIO(table("csv", one, two)))] == ["1 failed", "2 unscored"]
