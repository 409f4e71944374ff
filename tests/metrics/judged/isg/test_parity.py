"""The cases of the specification, through the verb ``metric``, in both profiles."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval
from tests.support.judges import judge
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

PARITY: dict[str, Any] = json.loads(
    Path(__file__).with_name("parity.json").read_text("utf-8")
)
COLOURS = (
    "black",
    "blue",
    "cyan",
    "gold",
    "gray",
    "green",
    "navy",
    "pink",
    "red",
    "white",
)


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("metric", PARITY["cases"])
def test_each_case_has_its_value_and_asks_its_questions(
    metric: str, profile: str, tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    for colour in COLOURS:
        (tmp_path / "images" / f"{colour}.png").write_bytes(picture(colour=colour))
    cases, replies = tmp_path / "cases.jsonl", tmp_path / "replies.jsonl"
    cases.write_text(lines(PARITY["cases"][metric]))
    replies.write_text(lines(PARITY["replies"]))
    with MockServer(replies=str(replies)) as server:
        done = mmeval(
            "try",
            "metric",
            metric,
            "--cases",
            cases,
            "--json",
            "--profile",
            profile,
            *judge(server),
        )
    found = {row["name"]: row for row in map(json.loads, done.out.splitlines())}
    wanted = {
        name: dict(by[profile])
        for name, by in PARITY["expected"][metric].items()
        if profile in by
    }
    assert len(wanted) >= len(PARITY["cases"][metric]) - 3
    for name, outputs in wanted.items():
        row = found[name]
        values = {
            key: one["value"] for key, one in row.get("outputs", {metric: row}).items()
        }
        asked = outputs.pop("asked", None)
        assert asked is None or sorted(row["evidence"]["asked"]) == asked, name
        assert values == pytest.approx(outputs), name
