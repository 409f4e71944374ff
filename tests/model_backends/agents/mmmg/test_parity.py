"""What the released agents of MMMG make of replies, through ``mmeval try agent NAME --cases
FILE --json``.

The values were computed once by the released scripts.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main
from tests.support.tiny_media import picture

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text("utf-8")
)


@pytest.mark.parametrize("agent", CASES)
def test_official_does_what_the_released_agent_does(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "user.png").write_bytes(picture())
    rows = [
        {
            "name": case["name"],
            "prompt": "Draw or play.",
            "files": ["user.png"] * case.get("pictures", 0),
            "args": {"profile": "official"},
            "replies": {"planner": [case["reply"]]},
        }
        for case in CASES[agent]
    ]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["try", "agent", agent, "--cases", str(cases), "--json"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for case, result in zip(CASES[agent], results, strict=True):
        expected = {
            key: case[key]
            for key in ("items", "rounds", "never_resolved")
            if key in case
        }
        assert result["name"] == case["name"]
        assert {key: result["evidence"][key] for key in expected} == expected, case[
            "name"
        ]
        assert result["answer"] == case["answer"], case["name"]
        assert sum("media" in part for part in result["parts"]) == case["made"], case[
            "name"
        ]
