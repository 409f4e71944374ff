from typing import Any

import pytest

from mmeval.report.comparing import difference, made

METRIC = {"version": "1", "switches": {"a": 1}, "aggregation": "mean", "outputs": ["n"], "judged": True}


def document(**changes: Any) -> dict[str, Any]:
    ours = {
        "protocols": {"t": "single"},
        "metrics": {"t": {"m": METRIC}},
        "judges": {"t": [{"role": "judge", "served": "j-1", "asked": "j"}]},
        "not_comparable": [],
    }
    return {"versions": {"t": changes.pop("version", "1.0")}, "mmeval": {**ours, **changes}}


def test_numbers_that_were_made_alike_compare() -> None:
    assert difference(made(document(), "t", "n"), made(document(), "t", "n")) == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"version": "2.0"}, "t had version 1.0, now it has 2.0"),
        ({"not_comparable": ["t"]}, "one of the two was made on bundled samples, the other on the benchmark's data"),
        ({"protocols": {"t": "episode"}}, "t was asked by the protocol single, now by episode"),
        ({"metrics": {"t": {"m": {**METRIC, "version": "2"}}}}, "the metric had another version"),
        (
            {"metrics": {"t": {"m": {**METRIC, "switches": {}, "aggregation": "median"}}}},
            "the metric had another switches and aggregation",
        ),
        ({"judges": {"t": [{"role": "judge", "served": "j-2"}]}}, "it was judged by another judge"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_difference_is_named(changes: dict[str, Any], why: str) -> None:
    assert difference(made(document(), "t", "n"), made(document(**changes), "t", "n")) == why


def test_another_judge_is_no_difference_to_a_metric_without_one() -> None:
    plain = {"metrics": {"t": {"m": {**METRIC, "judged": False}}}}
    other = {"judges": {"t": [{"role": "judge", "served": "j-2"}]}}

    assert difference(made(document(**plain), "t", "n"), made(document(**plain, **other), "t", "n")) == ""
