from mmeval.metrics.document.hints import (
    INCONSISTENT_DECIMALS,
    NO_HINTS,
    NO_UNITS,
    has_unit,
    hints_of,
)


def test_decimals_and_units_of_the_published_list_are_noticed() -> None:
    hints = {
        "5.2 kcal and 7.1 kcal": NO_HINTS,
        "5.2 kcal and 7.15": INCONSISTENT_DECIMALS,
        "5.2 and 7.1": NO_UNITS,
    }
    hints |= {
        "5.2 and 7.15": f"{INCONSISTENT_DECIMALS}; {NO_UNITS}",
        "5 and 7 kcal and .5": NO_HINTS,
        "": NO_UNITS,
    }
    hints |= {"of 1.10.2024, 5.25 g": NO_HINTS}  # dates and versions are numbers to it
    assert {text: hints_of(text) for text in hints} == hints
    units = {
        "7 G": True,
        "KCAL": True,
        "a big thing": True,
        "kilo": False,
        "7 ml": False,
        "12 kJ": False,
    }
    assert {text: has_unit(text) for text in units} == units
