import csv
import io

from mmeval.report.table_formats.layouts import (
    csv_tables,
    latex_tables,
    markdown_tables,
)
from mmeval.results.layout import Table

TABLE = Table(
    "Two | of 50%",
    ("Task", "Value", "Why"),
    (("a_b", 0.12345, ""), ("=x", None, "lost | gone")),
    ("Note",),
)


def test_markdown_latex_and_csv_have_title_rows_and_notes_and_escape_what_comes_from_outside() -> (
    None
):
    title, empty, *lines, rest, note = markdown_tables([TABLE]).splitlines()
    assert title == TABLE.title
    assert empty == ""
    assert rest == ""
    assert note == "Note"
    assert lines == [
        "|Task|Value|Why         |",
        "|----|----:|------------|",
        *lines[2:],
    ]
    assert lines[2:] == ["|a_b |0.123|            |", "|=x  |  N/A|lost \\| gone|"]
    assert markdown_tables([Table("t", ("A", "B"), ())]) == "t\n\n|A|B|\n|-|-|\n"
    lines = latex_tables([TABLE]).splitlines()
    rows = [
        r"Task & Value & Why \\",
        r"a\_b & 0.123 &  \\",
        r"=x & N/A & lost \textbar{} gone \\",
    ]
    assert [line for line in lines if line.endswith(r"\\")] == rows
    assert (lines[2], lines[-1]) == (
        r"\begin{tabular}{lrl}",
        r"\par{\footnotesize Note\par}",
    )
    head, *cells = csv.reader(io.StringIO(csv_tables([TABLE])))
    assert head == ["table", "row", "column", "value"]
    assert {row[0] for row in cells} == {TABLE.title}
    assert [row[1:] for row in cells] == [
        ["a_b", "Value", "0.12345"],
        ["a_b", "Why", ""],
        ["'=x", "Value", ""],
        ["'=x", "Why", "lost | gone"],
        ["", "note", "Note"],
    ]
    hostile = Table("a\x1b[2J", ("B\x1b[2J",), (("c\x1b[2J",),), ("d\x1b[2J",))
    assert "\x1b" not in markdown_tables([hostile]) + latex_tables(
        [hostile]
    ) + csv_tables([hostile])
