"""The structure scores of UniM, through ``mmeval metric NAME --cases FILE``, in each way of counting.

No script of these scores was released. The cases were computed once, as exact fractions, by an implementation of the
paper's formulas of its own.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "metrics/structure/parity.json").read_text())


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("mode", ["occurrences", "unique", "unique_no_echo"])
@pytest.mark.parametrize("kind", ["strict", "lenient"])
def test_every_case(kind: str, mode: str, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cases.jsonl"
    rows = [{**{key: case[key] for key in ("name", "input", "answer")}, "target": case["reference"]} for case in CASES]
    file.write_text("".join(json.dumps({**row, "params": {"mode": mode}}) + "\n" for row in rows))
    code = main(["metric", f"{kind}_structure", "--cases", str(file), "--profile", profile])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    undefined = any(case["modes"][mode][kind] is None for case in CASES)
    assert (code, [one["name"] for one in found]) == (3 if undefined else 0, [case["name"] for case in CASES])
    for one, case in zip(found, CASES, strict=True):
        wanted = case["modes"][mode]
        assert one["evidence"].get("fraction") == wanted[kind], case["name"]
        assert one["value"] == (None if wanted[kind] is None else pytest.approx(float(Fraction(wanted[kind]))))
        assert [one["evidence"][side] for side in ("reference", "answer")] == [wanted["reference"], wanted["answer"]]
