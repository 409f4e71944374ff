"""The given cases of trust: files, a command, and the values that it prints."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval

VERBS = ("agree", "calibrate", "bridge", "audit")
CASES: list[dict[str, Any]] = []
for file in sorted(Path(os.environ["MMEVAL_TRUST_CASES"]).glob("*.json")):
    content = json.loads(file.read_text("utf-8"))
    if content["verb"] in VERBS:
        CASES.append(content)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_case_has_its_values(case: dict[str, Any], tmp_path: Path) -> None:
    for name, rows in case["files"].items():
        text = rows
        if isinstance(rows, list):
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / name).write_text(text, "utf-8")

    ended = mmeval(*case["args"], cwd=tmp_path)

    assert ended.code == case["exit"], ended.err
    printed = json.loads(ended.out)
    unlike = []
    for expected in case["expected"]:
        value = value_at(printed, expected["key"])
        if not is_equal(value, expected["value"], expected.get("tol", 1e-6)):
            unlike.append(
                (expected["key"], expected["value"], value),
            )
    assert unlike == []


def is_equal(value: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, (float, list)):
        return bool(value == pytest.approx(expected, rel=tolerance, abs=tolerance))
    return bool(value == expected)


def value_at(document: Any, path: str) -> Any:
    value = document
    for key in path.split("/"):
        if isinstance(value, list):
            value = value[int(key)]
        elif value is not None:
            value = value.get(key)
    return value
