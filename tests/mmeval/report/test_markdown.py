from mmeval.report.markdown import cell, table_lines


def test_columns_are_as_wide_as_their_widest_cell_and_cells_are_harmless() -> None:
    assert table_lines(
        ["a", "n"], [["语言", "1"], ["e\u0301", "100"]], right_aligned={"n"}
    ) == [
        "|a   |  n|",
        "|----|--:|",
        "|语言|  1|",
        "|e\u0301   |100|",
    ]
    assert cell("a\x1b[31m\r\n|b\u202e") == "a [31m  \\|b "
