from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import Case, shown

CASES = {
    words or "nothing": Case(f"init {words}", {"taken/x": ""})
    for words in (
        "",
        "benchmark herbench --subtasks 2",
        "metric her_metric",
        "backend her_backend",
        "bench x",
        "metric x --subtasks 2",
        "benchmark x --subtasks 5000",
        "benchmark taken",
        "benchmark 'her bench'",
        "benchmark json",
        "benchmark unim",
        f"metric {'a' * 300}",
        "metric",
        "metric tests",
        "metric class",
        "benchmark x --output_path gone/folder",
        "worker omni",
        "worker omni --recipe bagel",
        "worker omni --recipe bagle",
        "metric omni --recipe bagel",
    )
}


@pytest.mark.parametrize("name", CASES)
def test_init(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
