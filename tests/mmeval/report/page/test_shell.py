from pathlib import Path
from typing import Any

import pytest

from mmeval.report.page.shell import run_rows
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import write_run

SPENT = {"calls": 1203, "input_tokens": 84210, "output_tokens": 9120, "images": 0}


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        ({}, None),
        (
            {**SPENT, "usd": 0.305},
            "calls: 1,203, tokens: 84,210 in and 9,120 out, 0.30 USD",
        ),
        (
            {"calls": 1, "images": 2, "usd": None},
            "calls: 1, images made: 2, price unknown",
        ),
    ],
    ids=["nothing", "dollars", "unknown"],
)
def test_settings_have_backend_protocol_and_what_was_spent(
    spent: dict[str, Any], words: str | None, tmp_path: Path
) -> None:
    results = {"protocols": {"a": "single", "b": "single"}, "spent": spent}
    run = StoredRun(write_run(tmp_path / "run", [], results=results))
    (row,) = run_rows([run])
    found = {setting["name"]: setting["value"] for setting in row["settings"]}
    assert (found["backend"], found["protocol"]) == ("reference", "single")
    assert found.get("spent") == words
