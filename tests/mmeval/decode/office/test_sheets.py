from mmeval.content.media import Media
from mmeval.decode import Block, OfficeTable, office_blocks
from mmeval.decode.office.sheets import displayed
from tests.support.documents import number_in, row, words_in, workbook

STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="0.0&quot; mg&quot;"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="164"/></cellXfs>'
)


def blocks(data: bytes) -> list[Block]:
    return list(office_blocks(Media.from_bytes(data)))


def test_cells_stand_in_their_columns_with_what_they_display() -> None:
    first = row(1, words_in("A1", "Share"), words_in("C1", "Salt"), words_in("AB1", "far"))
    second = row(3, number_in("A3", 0.256, 1), number_in("B3", 7.0), number_in("C3", 2.26, 2))
    found = blocks(workbook({"Food": first + second, "Empty": ""}, styles=STYLES))
    assert found == ["Food", OfficeTable((("Share", "", "Salt", *[""] * 24, "far"), ("25.60%", "7", "2.3")))]
    cells = (
        *('<c r="A1" t="s"><v>1</v></c>', '<c r="B1" t="b"><v>1</v></c>', '<c r="C1"><f>1+1</f><v>2</v></c>'),
        *('<c r="D1" t="e"><v>#DIV/0!</v></c>', '<c t="b"><v>0</v></c>', '<c t="s"><v>0</v></c>'),
    )
    found = blocks(workbook({"S": row(1, *cells)}, strings=["zero", "one | two"]))
    assert found == ["S", OfficeTable((("one | two", "TRUE", "2", "#DIV/0!", "FALSE", "zero"),))]


def test_a_number_is_shown_as_its_format_says() -> None:
    shown = {
        **{(52.123, "0.0"): "52.1", (1234.5, "#,##0.00"): "1,234.50", (0.25, "0%"): "25%", (3.0, ""): "3"},
        **{(0.1 + 0.2, "General"): "0.3", (45413.0, "yyyy-mm-dd"): "2024-05-01", (2.5, '0.00" kg"'): "2.50"},
        **{(45413.5, "m/d/yy h:mm"): "2024-05-01 12:00", (1e300, "d"): "1e+300", (float("nan"), "d"): "nan"},
        **{(1e-9, "0.00E+00"): "1.00e-09", (12345.0, "##0.0e-0"): "1.2e+04"},
    }
    assert {(number, code): displayed(number, code) for number, code in shown} == shown


def test_some_formats_are_known_by_number_alone_and_others_change_nothing() -> None:
    known = {
        **{(1234.5, 4): "1,234.50", (1234.4, 5): "1,234", (1234.5, 43): "1,234.50", (1e-9, 11): "1.00e-09"},
        **{(0.5, 20): "12:00", (45413.5, 14): "2024-05-01", (45413.5, 22): "2024-05-01 12:00", (0.5, 12): "0.5"},
    }
    styles = "".join(f'<xf numFmtId="{style}"/>' for _, style in known)
    cells = [number_in(f"{chr(65 + at)}1", number, at) for at, (number, _) in enumerate(known)]
    beyond = [number_in("I1", 45413.5, -1), number_in("J1", 45413.5, 8)]
    book = workbook({"S": row(1, *cells, *beyond)}, styles=f"<cellXfs>{styles}</cellXfs>")
    assert blocks(book) == ["S", OfficeTable(((*known.values(), "45413.5", "45413.5"),))]
