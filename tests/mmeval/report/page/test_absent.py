from dataclasses import replace
from typing import Any

import pytest

from mmeval.findings.finding import Finding
from mmeval.metric.bound import missing_role
from mmeval.report.page.absent import not_computed
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result

NONE: dict[str, Any] = {"value": None, "scored": 0}


def lacking(
    *documents: dict[str, Any], findings: tuple[Finding, ...] = ()
) -> list[dict[str, Any]]:
    documents[0].setdefault("mmeval", {})["findings"] = [
        finding.to_json() for finding in findings
    ]
    return not_computed(
        number_rows(documents, ["one", "two"][: len(documents)]),
        documents,
        uncounted=False,
        run="runs/m",
    )


def needs(task: str, metric: str, role: str) -> Finding:
    finding = missing_role(metric, role)
    return replace(finding, subject=replace(finding.subject, task=task))


def test_a_remedy_is_there_once_with_all_numbers_that_it_gives() -> None:
    names = ("m", "total")
    metrics = {task: {name: {"outputs": [name]} for name in names} for task in "ab"}
    numbers = [
        result(task, name, **NONE, unavailable=4) for task in "gab" for name in names
    ]
    findings = [needs(task, name, "judge") for task in "ab" for name in names]
    findings += [needs(task, "total", "captioner") for task in "ab"]
    found = lacking(
        document(*numbers, groups={"g": ["a", "b"]}, metrics=metrics),
        findings=tuple(findings),
    )
    assert [(one["label"], one["remedy"]) for one in found] == [
        ("missing role", "--judge openai,model=NAME"),
        ("missing role", "--captioner openai,model=NAME"),
    ]
    assert [
        (place["name"], place["href"], place["metrics"]) for place in found[0]["places"]
    ] == [
        ("G", "", "m, total"),
        ("A", "#task=a", "m, total"),
        ("B", "#task=b", "m, total"),
    ]


@pytest.mark.parametrize(
    ("counts", "label"),
    [
        ({"unsupported": 4}, "unsupported"),
        ({"unscored": 3, "failed": 1}, "failed"),
        ({"unscored": 4}, "unscored"),
        ({"inapplicable": 4}, "unscored"),
        ({"suspended": True}, "suspended"),
    ],
    ids=["unsupported", "failed", "lost", "nothing to score", "suspended"],
)
def test_without_a_recorded_finding_the_counts_are_one(
    counts: dict[str, Any], label: str
) -> None:
    (found,) = lacking(
        document(result("a", **NONE, **counts), result("a", "k", slice="level=easy"))
    )
    assert (found["label"], found["remedy"]) == (label, "")


def test_what_one_of_the_runs_has_is_not_missing() -> None:
    assert (
        lacking(document(result("a", **NONE, unscored=4)), document(result("a"))) == []
    )
