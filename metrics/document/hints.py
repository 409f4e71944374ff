"""Hints for a judge of documents: what the release's heuristics notice about numbers and units."""

from __future__ import annotations

import re

INCONSISTENT_DECIMALS = "inconsistent decimal places"
NO_UNITS = "no units"
NO_HINTS = "no obvious issues"
_DECIMAL = re.compile(r"[0-9]+\.([0-9]+)")
_UNIT = re.compile("g|kcal|mg|kg", re.IGNORECASE)


def hints_of(text: str) -> str:
    """What is noticed, joined by semicolons; a line that says so where it is nothing."""
    noticed = []
    if len({len(decimals) for decimals in _DECIMAL.findall(text)}) > 1:
        noticed.append(INCONSISTENT_DECIMALS)
    if not has_unit(text):
        noticed.append(NO_UNITS)
    return "; ".join(noticed) or NO_HINTS


def has_unit(text: str) -> bool:
    """Whether a unit of the published list (g, kcal, mg, kg) is found. Published oddity: in any case and inside words,
    so that any letter g is one, and every other unit is none."""
    return _UNIT.search(text) is not None
