from mmeval.report.markdown import cell, table_lines
from mmeval.wording import printable


def test_columns_are_as_wide_as_their_widest_cell_on_a_terminal() -> None:
    assert table_lines(["a", "n"], [["语言", "1"], ["x", "100"]], right_aligned={"n"}) == [
        "|a   |  n|",
        "|----|--:|",
        "|语言|  1|",
        "|x   |100|",
    ]


def test_long_text_is_cut() -> None:
    assert printable("x" * 100, limit=10) == "x" * 9 + "…"


def test_control_characters_become_blanks_and_pipes_are_escaped() -> None:
    assert cell("a\x1b[31m\r\n|b\u202e") == "a [31m  \\|b "
