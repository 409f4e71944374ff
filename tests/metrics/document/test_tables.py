from mmeval.media.decode import OfficeTable
from mmeval.metrics.document.tables import (
    blocks_of,
    cells_of,
    markdown,
    released_markdown,
)


def test_a_line_is_cut_at_two_blanks_and_the_release_makes_one_table_of_all_lines() -> (
    None
):
    cells = {
        "Apple  52": ["Apple", "52"],
        "Apple 52": ["Apple 52"],
        "Apple\t52": ["Apple", "52"],
    }
    cells |= {"  Red apple \t 52  ": ["Red apple", "52"], "a     b  c": ["a", "b", "c"]}
    assert {line: cells_of(line) for line in cells} == cells
    lines = ["Fruit  Energy ", "", "  All fruit", "Apple  52  kcal"]
    assert (
        released_markdown(lines)
        == "| Fruit | Energy |\n| --- | --- |\n| All fruit |\n| Apple | 52 | kcal |"
    )
    assert released_markdown([]) == released_markdown(["", "  "]) == ""


def test_words_stay_words_rows_become_a_table_and_cells_cannot_end_themselves() -> None:
    text = ["My fruit", "this week"]
    table = ["Fruit  Energy", "Apple  52", "All of them", "Pear  57"]
    rows = (("Fruit", "Energy"), ("Apple", "52"), ("All of them",), ("Pear", "57"))
    assert blocks_of([*text, *table, *text]) == [
        "My fruit\nthis week",
        OfficeTable(rows),
        "My fruit\nthis week",
    ]
    # two lines of one cell end a table
    assert len(blocks_of(["a  b", "c  d", "one", "two", "e  f", "g  h"])) == 3
    # a single row is none
    assert blocks_of(["Page 1  of 2", "Dear all"]) == ["Page 1  of 2\nDear all"]
    assert markdown(["one", " ", OfficeTable(()), "two"]) == "one\n\ntwo"
    assert (
        markdown([OfficeTable((("a|b", "c\nd"), ("1",)))])
        == "| a\\|b | c d |\n| --- | --- |\n| 1 |"
    )
