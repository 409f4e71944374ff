"""UniMA from end to end: on the embedded model for every role, and with the sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_OK
from tests.support.cli import QUIET, mmeval, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.sandbox import bubblewrap

PLAN = {
    "modalities_content": {"image": {"image9": "a red square"}},
    "text_content": "See <<image9>>",
    "tool_list": {"image9": "text_to_image"},
}
SAID = {
    "Describe this item": "a thing",
    '{"tcdc":': '{"tcdc": {}}',
    '{"paraphrased_question":': '{"paraphrased_question": "What is asked?"}',
    '"needs_data_analysis"': '{"needs_data_analysis": false, "data_report": null}',
    "Does the plan answer": '{"pass": true, "issues": []}',
    "Items can be made by": json.dumps(PLAN),
    "Kind of item": "one, two",
}
TINY = "hf,pretrained=tiny"
COMMAND = (
    "--data",
    "bundled",
    "--limit",
    "1",
    "--repeats",
    "1",
    "--log_samples",
    "--model",
    "unima",
    "--role",
    f"text_to_image={TINY}",
    *QUIET,
)


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


def asked(
    output: Path, planner: str, *, tasks: str, trials: int
) -> list[dict[str, Any]]:
    """The samples of a run that has an answer for each."""
    words = ("--tasks", tasks, "--role", f"planner={planner}", "--output_path", output)
    done = mmeval(*COMMAND, *words)
    assert done.code == EXIT_OK, done.err
    files = run_folder(output, "unima").glob("samples_*.jsonl")
    rows = [
        json.loads(line) for file in files for line in file.read_text().splitlines()
    ]
    assert len(rows) == trials
    assert {error for row in rows for error in row["error"]} == {None}
    return rows


def steps(row: dict[str, Any]) -> list[str]:
    ((trace,),) = row["trace"]
    return [step["title"] for step in trace["steps"]]


def test_the_embedded_model_can_play_every_role(tmp_path: Path) -> None:
    (row,) = asked(tmp_path, TINY, tasks="unim_hard", trials=1)
    # it writes no plan, so that it answers in words
    assert steps(row)[-2:] == ["plan", "generate"]


def test_the_sandbox_computes_what_a_question_needs(tmp_path: Path) -> None:
    bubblewrap()
    data = {
        "needs_data_analysis": True,
        "data_report": {"steps": "a mean"},
        "code": "print(sum([2, 4, 9]) / 3)",
    }
    plan = {"modalities_content": {}, "text_content": "It is 5.", "tool_list": {}}
    said = [
        json.dumps(reply)
        for reply in ({"paraphrased_question": "the mean?"}, data, plan)
    ]
    case = {
        "prompt": "The mean of 2, 4 and 9?",
        "wants": ["text"],
        "args": {"verification": False},
    }
    (tmp_path / "cases.jsonl").write_text(
        json.dumps({**case, "replies": {"planner": said}}) + "\n"
    )
    words = ("try", "agent", "unima", "--cases", tmp_path / "cases.jsonl", "--json")
    done = mmeval(*words, "--role", "code_interpreter=sandbox")
    result = json.loads(done.out)
    assert (
        done.code,
        result["answer"],
        result["evidence"]["data_report"]["results"],
    ) == (0, "It is 5.", "5.0\n")
    refused = mmeval(*words, "--role", "interpreter=sandbox")
    assert (refused.code, "code_interpreter" in refused.error) == (2, True)
