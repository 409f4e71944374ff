"""Computes hints for a judge with the release's rules for numbers and units."""

from __future__ import annotations

import re

INCONSISTENT_DECIMALS = "inconsistent decimal places"
NO_UNITS = "no units"
NO_HINTS = "no obvious issues"
_DECIMAL = re.compile(r"[0-9]\.([0-9]+)")
_UNIT = re.compile("g|kcal|mg|kg", re.IGNORECASE)


def hints_of(text: str) -> str:
    """Returns the hints about a text, joined by semicolons, or ``NO_HINTS``."""
    noticed = []
    if len(set(map(len, _DECIMAL.findall(text)))) > 1:
        noticed.append(INCONSISTENT_DECIMALS)
    if not has_unit(text):
        noticed.append(NO_UNITS)
    return "; ".join(noticed) or NO_HINTS


def has_unit(text: str) -> bool:
    """Returns True if a text contains a unit of the published list (g, kcal, mg, kg).

    Published oddity: units are found in any case and inside words, so every letter g
    counts as a unit.
    """
    return _UNIT.search(text) is not None
