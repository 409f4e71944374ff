import json

import pytest

from mmeval.findings.finding import KINDS, Finding, Subject
from mmeval.findings.words import LABELS

WHOLE = Finding(
    "unscored",
    Subject("t", "m", "judge", "s1", "package", "t.yaml", 3),
    count=2,
    of=9,
    cause="the reply was cut off",
    remedy="mmeval score RUN",
    severity="error",
    example="the reply that ends in",
)


@pytest.mark.parametrize(
    "finding", [WHOLE, Finding("budget")], ids=["all fields", "a kind alone"]
)
def test_a_finding_is_read_back_from_its_json(finding: Finding) -> None:
    row = json.loads(json.dumps(finding.to_json()))
    assert Finding.from_json(row) == finding


def test_fields_of_a_newer_version_are_passed_over() -> None:
    row = {**WHOLE.to_json(), "later": 1}
    row["subject"] = {**row["subject"], "later": 1}
    assert Finding.from_json(row) == WHOLE


def test_empty_fields_are_not_written() -> None:
    assert Finding("budget").to_json() == {
        "kind": "budget",
        "severity": "warning",
        "subject": {},
    }


def test_each_kind_has_its_words() -> None:
    assert tuple(LABELS) == KINDS
