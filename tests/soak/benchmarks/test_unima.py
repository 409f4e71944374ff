"""The agent of UniM with scripted replies."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.test_unima import PLAN, SAID, asked, steps
from tests.support.mock_openai_server import MockServer

STEPS = ["paraphrase", "data", "plan", "check", "generate"]


@pytest.fixture
def planner(tmp_path: Path) -> Iterator[str]:
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        "".join(
            json.dumps({"contains": part, "reply": reply}) + "\n"
            for part, reply in SAID.items()
        )
    )
    with MockServer(replies=str(replies)) as server:
        yield f"openai,base_url={server.url},model=p"


def test_scripted_replies_are_answers_with_a_trace_for_each_trial(
    tmp_path: Path, planner: str
) -> None:
    rows = asked(tmp_path, planner, tasks="unim_hard,mmmg_image_text", trials=21)
    for row in rows:
        ((trace,),) = row["trace"]
        assert [
            title for title in steps(row) if title not in ("receive", "tcdc")
        ] == STEPS
        assert ("receive" in steps(row)) == ("tcdc" in steps(row))
        assert trace["evidence"]["final_report"] == PLAN
        assert [part["type"] for part in row["parts"][0]] == ["text", "image"]
        assert all(step["key"] and "error" not in step for step in trace["steps"])
