"""Reads the cells of workbooks (xlsx) as they are displayed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, iterparse

from mmeval.decode.office.text import OF_ENTRY, Entries

_WORKBOOK, _STYLES, _STRINGS = "xl/workbook.xml", "xl/styles.xml", "xl/sharedStrings.xml"
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_BUILT_IN: Mapping[int, str] = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    **dict.fromkeys((5, 6, 37, 38, 41, 42), "#,##0"),
    **dict.fromkeys((7, 8, 39, 40, 43, 44), "#,##0.00"),
    **dict.fromkeys((14, 15, 16, 17), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21), "h:mm"),
    22: "yyyy-mm-dd h:mm",
    48: "##0.0E+0",
}
"""The formats that are known by number alone, as far as :func:`displayed` supports them."""
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')
_DIGITS = re.compile(r"[#0,?]*0(?:\.(0+))?")
_POWER = re.compile(r"0e[+-]")
_EPOCH = datetime.datetime(1899, 12, 30)
_MOST_COLUMNS = 16_384
_ROWS_A_BLOCK = 1000
_CELL = re.compile(r"([A-Z]{1,3})[0-9]+")


def sheet_blocks(entries: Entries) -> Iterator[list[Any]]:
    """Each sheet's name (``[text]``) and rows (``["", rows]``), unless it is empty."""
    related = entries.related(_WORKBOOK)
    with entries.open(_WORKBOOK) as source:
        sheets = [(element.get("name", ""), element.get(OF_ENTRY, "")) for element in _all(source, "sheet")]
    strings, formats = _shared_strings(entries), _formats(entries)
    for title, name in sheets:
        if name not in related:
            raise ValueError("a sheet of it is missing")
        named = False
        for rows in _tables(entries, related[name], strings, formats):
            if not named:
                yield [title]
                named = True
            yield ["", rows]


def _all(source: Any, tag: str) -> Iterator[Element]:
    for _, element in iterparse(source):
        if element.tag == f"{_S}{tag}":
            yield element


def _shared_strings(entries: Entries) -> list[str]:
    if _STRINGS not in entries:
        return []
    found: list[str] = []
    with entries.open(_STRINGS) as source:
        for element in _all(source, "si"):
            found.append(_words(element))
            element.clear()
    return found


def _words(element: Element) -> str:
    """The words of a string, without their pronunciation."""
    runs = [element, *element.findall(f"{_S}r")]
    return "".join(text.text or "" for run in runs for text in run.findall(f"{_S}t"))


def _formats(entries: Entries) -> list[str]:
    """The format of each style, by its number."""
    if _STYLES not in entries:
        return []
    own: dict[int, str] = {}
    found: list[str] = []
    with entries.open(_STYLES) as source:
        for _, element in iterparse(source):
            if element.tag == f"{_S}numFmt":
                own[int(element.get("numFmtId", "0"))] = element.get("formatCode", "")
            elif element.tag == f"{_S}cellXfs":
                numbers = [int(style.get("numFmtId", "0")) for style in element.findall(f"{_S}xf")]
                found = [own.get(number, _BUILT_IN.get(number, "")) for number in numbers]
    return found


def _tables(entries: Entries, name: str, strings: Sequence[str], formats: Sequence[str]) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    with entries.open(name) as source:
        for element in _all(source, "row"):
            row = _row(element, strings, formats)
            element.clear()
            if any(row):
                rows.append(row)
            if len(rows) >= _ROWS_A_BLOCK:
                yield rows
                rows = []
    if rows:
        yield rows


def _row(element: Element, strings: Sequence[str], formats: Sequence[str]) -> list[str]:
    """The cells of a row from the first column to its last one that holds anything."""
    row: list[str] = []
    for cell in element.findall(f"{_S}c"):
        text = " ".join(_shown(cell, strings, formats).split())
        at = _column(cell.get("r", ""), len(row))
        if text:
            row += [""] * (at - len(row)) + [text]
    return row


def _column(reference: str, following: int) -> int:
    found = _CELL.fullmatch(reference)
    if found is None:
        return following
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - ord("A") + 1
    if number > _MOST_COLUMNS or number - 1 < following:
        raise ValueError(f"the cell {reference} is out of place")
    return number - 1


def _shown(cell: Element, strings: Sequence[str], formats: Sequence[str]) -> str:
    """What a cell displays: of a formula its result."""
    kind, value = cell.get("t", "n"), cell.findtext(f"{_S}v") or ""
    if kind == "inlineStr":
        inline = cell.find(f"{_S}is")
        return "" if inline is None else _words(inline)
    if kind == "s" and value:
        if not 0 <= int(value) < len(strings):
            raise ValueError(f"it names text {int(value)} of {len(strings)}")
        return strings[int(value)]
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(value, value)
    if kind != "n" or not value:
        return value
    style = int(cell.get("s", "0"))
    return displayed(float(value), formats[style] if 0 <= style < len(formats) else "")


def displayed(number: float, code: str) -> str:
    """A number as a format shows it; without a format as it is.

    Supported are decimals, powers of ten, thousands, percent and days.
    """
    plain = _NOT_FORMAT.sub("", code.partition(";")[0]).lower()
    if re.search(r"[ymdhs]", plain):
        return _moment(number, plain)
    if not (digits := _DIGITS.search(plain)):
        return f"{number:.15g}"
    if _POWER.search(plain):
        return f"{number:.{len(digits[1] or '')}e}"
    share = 100 if "%" in plain else 1
    separator = "," if "," in digits[0] else ""
    return f"{number * share:{separator}.{len(digits[1] or '')}f}" + ("%" if "%" in plain else "")


def _moment(number: float, code: str) -> str:
    try:
        moment = _EPOCH + datetime.timedelta(days=number)
    except (OverflowError, ValueError):
        return f"{number:.15g}"
    day = moment.strftime("%Y-%m-%d") if re.search("[yd]", code) else ""
    time = moment.strftime("%H:%M") if "h" in code else ""
    return " ".join(word for word in (day, time) if word) or day or f"{number:.15g}"
