from typing import Any

import pytest

from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.headline import headline_rows
from mmeval.report.page.headlines import MOST_LINES, headline_gauges
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result


def gauges(
    given: dict[str, Any], spread: tuple[float, float] | None = (0, 1), **more: Any
) -> list[dict[str, Any]]:
    rows = headline_rows(number_rows([given], ["one"]))
    return headline_gauges(rows, {"m": spread}, **more)


@pytest.mark.parametrize(
    ("spread", "places"),
    [
        ((0, 1), (0, 50, 25, 75)),
        ((-1, 1), (50, 75, 62.5, 87.5)),
        (None, (0, 62.5, 31.25, 93.75)),
    ],
    ids=["from zero", "around zero", "unknown"],
)
def test_a_gauge_has_value_and_interval_in_percent_of_the_range(
    spread: tuple[float, float] | None, places: tuple[float, ...]
) -> None:
    (gauge,) = gauges(document(result("a", ci95=[0.25, 0.75])), spread=spread)
    assert (gauge["value"], gauge["interval"], gauge["scored"]) == (
        "0.500",
        "0.250 to 0.750",
        "4 of 4",
    )
    assert tuple(gauge[name] for name in ("zero", "at", "low", "high")) == places
    assert (gauge["name"], gauge["href"]) == ("A", "#task=a")


def test_without_a_value_there_is_no_gauge_and_a_baseline_stands_beside() -> None:
    none = result("b", value=None, scored=0)
    beside = BaselineColumn("other", {Key("a", "m"): Result("a", "m", 0.25, 4, 4)})
    (row,) = gauges(document(result("a"), none), baseline=beside)
    assert row["beside"] == {"name": "other", "value": "0.250", "at": 25.0}
    assert row["interval"] == ""


def test_of_many_tasks_those_that_no_group_holds_are_shown() -> None:
    tasks = [f"t{at}" for at in range(MOST_LINES)]
    given = document(result("g"), *map(result, tasks), result("z"), groups={"g": tasks})
    assert [row["name"] for row in gauges(given)] == ["G", "Z"]
    few = document(result("g"), result("t0"), result("z"), groups={"g": ["t0"]})
    assert [(row["name"], row["inner"]) for row in gauges(few)] == [
        ("G", False),
        ("T0", True),
        ("Z", False),
    ]
    unknown = result("g", value=None, scored=0)
    lone = document(unknown, *map(result, tasks), result("z"), groups={"g": tasks})
    assert [row["name"] for row in gauges(lone)] == [*map(str.upper, tasks)]
