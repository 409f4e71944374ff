"""Numbers that are written in a text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

_ENDS = r"(?![.,]?\d)"
_GROUPED = r"[1-9]\d{0,2}(?:,\d{3})+(?!,?\d)(?:\.\d{1,400})?"
_WITH_COMMA = (
    # Groups of three are separated by full stops here, as in "1.234,56". In a list such
    # as "1,2,3" the commas separate numbers.
    r"(?<!\d,)(?:[1-9]\d{0,2}(?:\.\d{3})+|\d{1,400}),\d{1,400}" + _ENDS
)
_PLAIN = r"\d{1,400}(?!\d)(?:\.\d{1,400})?|\.\d{1,400}"
_NUMBER = re.compile(
    # The digits of "H2O", of "v1.2" and of "3.4.5" are parts of a name. Other scripts
    # write a number without a space before it.
    r"(?<![A-Za-z0-9_])(?<!\d\.)"
    # A hyphen after a word or a number is not a sign: "1990-5".
    r"(?P<sign>(?<![\w)])[-+−])?"
    rf"(?:(?P<grouped>{_GROUPED})|(?P<with_comma>{_WITH_COMMA})|(?P<plain>{_PLAIN}))"
    r"(?P<power>[eE][-+]?\d{1,3}(?![\d.]))?",
    re.ASCII,
)
_OVER = re.compile(r"\s{0,2}/\s{0,2}(\d{1,400})(?![.,]?\d)(?!\s{0,2}/)", re.ASCII)
_BLANKS_AROUND_OVER = 3
_LATEX_FRACTION = re.compile(
    r"\\[dt]?frac\s*\{\s*(\d{1,400})\s*\}\s*\{\s*(\d{1,400})\s*\}"
)


class WrittenNumber(NamedTuple):
    """A number in a text: ASCII without thousands separators, and its exact value."""

    text: str
    value: Fraction


def last_number(text: str) -> WrittenNumber | None:
    """Returns the last number in a text, or None if there is none.

    A fraction is one number: ``3/4``, ``\\frac{3}{4}``. A date such as ``3/4/2024`` is
    not a fraction. Percent signs, currencies and units are ignored.

    A comma before groups of three digits separates thousands: ``1,200``. One comma
    before other digits is a decimal comma, also in ``0,125`` and ``1.234,56``. Several
    commas, as in ``1,2,3``, separate numbers.

    >>> last_number("Of 1,200 trees, $1,150.50 were paid.")
    WrittenNumber(text='1150.50', value=Fraction(2301, 2))
    """
    text = _LATEX_FRACTION.sub(r"\1/\2", text)
    number: WrittenNumber | None = None
    behind_fraction = 0
    for match in _NUMBER.finditer(text):
        if match.start() < behind_fraction:
            continue
        digits = match["plain"] or ""
        if match["grouped"]:
            digits = match["grouped"].replace(",", "")
        elif match["with_comma"]:
            digits = match["with_comma"].replace(".", "").replace(",", ".")
        sign = "-" if match["sign"] in ("-", "−") else ""
        digits = f"{sign}{digits}{match['power'] or ''}"
        number = WrittenNumber(digits, Fraction(digits))
        before = text[max(0, match.start() - _BLANKS_AROUND_OVER) : match.start()]
        # The second number of a date, "3/4/2024", has a slash on both sides.
        is_second = before.rstrip().endswith("/")
        divisor = _OVER.match(text, match.end())
        if divisor and not is_second and int(divisor[1]):
            value = number.value / int(divisor[1])
            number = WrittenNumber(f"{digits}/{divisor[1]}", value)
            behind_fraction = divisor.end()
    return number
