from __future__ import annotations

import pytest

from mmeval.metrics.document.hints import INCONSISTENT_DECIMALS, NO_HINTS, NO_UNITS, has_unit, hints_of


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("5.2 kcal and 7.1 kcal", NO_HINTS),
        ("5.2 kcal and 7.15 kcal", INCONSISTENT_DECIMALS),
        ("5.2 and 7.1", NO_UNITS),
        ("5.2 and 7.15", f"{INCONSISTENT_DECIMALS}; {NO_UNITS}"),
        ("5 and 7 kcal and .5", NO_HINTS),
        ("", NO_UNITS),
        ("of 1.10.2024, 5.25 g", NO_HINTS),  # dates and versions are numbers to it
    ],
)
def test_decimals_and_units_are_noticed(text: str, hints: str) -> None:
    assert hints_of(text) == hints


@pytest.mark.parametrize(
    ("text", "found"),
    [("7 G", True), ("KCAL", True), ("a big thing", True), ("kilo", False), ("7 ml", False), ("12 kJ", False)],
)
def test_units_of_the_published_list_are_found_inside_words_too(text: str, found: bool) -> None:
    assert has_unit(text) is found
