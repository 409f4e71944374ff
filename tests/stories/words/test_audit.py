import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from benchmarks.statistics.audits import JUDGES, calls
from tests.support.words import Case, shown

AUDIT = "audit --from calls.jsonl"


def files(judge: str) -> Mapping[str, str]:
    """What a judge with a planted fault said of 120 trials."""
    lines = []
    for call in calls(JUDGES[judge], np.random.default_rng(0)):
        row = {name: value for name, value in vars(call).items() if value is not None}
        lines.append(json.dumps(row))
    return {"calls.jsonl": "\n".join(lines)}


def one(**changed: object) -> Mapping[str, str]:
    row = {"check": "swap", "trial": "t", "first": 0.5, "again": 0.5, "changed": 0.5}
    return {"calls.jsonl": json.dumps({**row, **changed})}


CASES = {
    "an honest judge": Case(AUDIT, files("honest")),
    "a judge that does not look": Case(
        f"{AUDIT} --checks swap,inject --fail_on swap", files("not looking")
    ),
    "a constant judge": Case(f"{AUDIT} --fail_on inject", files("constant")),
    "json": Case(f"{AUDIT} --checks repeat,self --format json", files("honest")),
    "one trial": Case(AUDIT, one()),
    "a score out of range": Case(AUDIT, one(first=7)),
    "an unknown check": Case(AUDIT, one(check="swop")),
    "an unknown check on the command line": Case(f"{AUDIT} --checks swop", one()),
    "a range without width": Case(f"{AUDIT} --range 1,1", one()),
    "a gate of a check that is not done": Case(f"{AUDIT} --fail_on inject", one()),
    "a judge for a file": Case(f"{AUDIT} --judge openai,model=j", one()),
    "an unknown format": Case(f"{AUDIT} --format yaml", one()),
    "a missing file": Case("audit --from none.jsonl", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_audit(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
