from typing import Any

import pytest

from mmeval.results.compare import unlike

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
    assert unlike(document(), document(), ["t"], "n") == ""


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
    assert unlike(document(), document(**changes), ["t"], "n") == why


def test_another_judge_is_no_difference_to_a_metric_without_one() -> None:
    plain = {"metrics": {"t": {"m": {**METRIC, "judged": False}}}}
    other = {"judges": {"t": [{"role": "judge", "served": "j-2"}]}}
    assert unlike(document(**plain), document(**plain, **other), ["t"], "n") == ""


def test_a_derived_number_compares_where_its_pieces_do() -> None:
    derived = {**METRIC, "outputs": ["whole"], "judged": False, "pieces": ["n"]}
    first = document(metrics={"t": {"m": METRIC, "w": derived}})
    other = document(metrics={"t": {"m": {**METRIC, "version": "2"}, "w": derived}})
    assert (unlike(first, first, ["t"], "whole"), unlike(first, other, ["t"], "whole")) == (
        "",
        "the metric had another version",
    )


@pytest.mark.parametrize(("fingerprint", "alike"), [("f1", True), ("f2", False)], ids=["same files", "other files"])
def test_a_model_of_a_metric_is_its_files_whatever_it_is_called(fingerprint: str, alike: bool) -> None:
    def made_with(name: str, fingerprint: str) -> dict[str, Any]:
        model = {"name": name, "revision": name, "fingerprint": fingerprint}
        return document(metrics={"t": {"m": {**METRIC, "switches": {"model": model}}}})

    assert (unlike(made_with("me/scorer", "f1"), made_with("./copy", fingerprint), ["t"], "n") == "") is alike
