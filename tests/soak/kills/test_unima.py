"""Runs of UniMA that are killed, repair loops among them: nothing is asked twice, and
the answers are the same."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.soak.kills.test_agents import KILLS
from tests.soak.support.agents import kill_and_go_on, told
from tests.support.cli import QUIET, run_folder
from tests.support.mock_openai_server import State, last_text
from tests.support.sandbox import bubblewrap


class PlannerState(State):
    """Plays the planner: whether a check passes, and which step is blamed, follows from
    what is asked."""

    def __init__(self, settings: Any) -> None:
        State.__init__(self, settings)

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        number, words = int(key, 16), last_text(body)
        said: dict[str, Any] = {
            '{"tcdc":': {"tcdc": {}},
            '{"paraphrased_question":': {"paraphrased_question": f"What is {key}?"},
            '"needs_data_analysis"': {
                "needs_data_analysis": number % 2 == 0,
                **(
                    {"data_report": {"steps": "count"}, "code": f"print({number} % 97)"}
                    if number % 2 == 0
                    else {}
                ),
            },
            "Does the plan answer": {
                "pass": number % 2 == 0,
                "issues": [f"fault {key}"],
            },
            "the earliest step": {"faulty_step": number % 5, "reason": key},
            "Items can be made by": {
                "modalities_content": {"image": {"image9": f"picture {key}"}},
                "text_content": f"{key}: <<image9>>"
                + " <<image10>>" * (number % 3 == 0),
                "tool_list": {"image9": "text_to_image"},
            },
        }
        reply = next(
            (json.dumps(reply) for part, reply in said.items() if part in words),
            f"a thing: {key}",
        )
        found: dict[str, Any] = State.message(self, {**body, "messages": []}, key)
        return {**found, "content": reply}


def command(folder: Path, url: str, name: str) -> list[str]:
    return [
        "--tasks",
        "mmmg_image_text",
        "--data",
        "bundled",
        "--model",
        "unima",
        "--run_id",
        name,
        "--log_samples",
        "--output_path",
        str(folder),
        "--max_connections",
        "4",
        *QUIET,
        "--role",
        f"planner=openai,base_url={url},model=p",
        "--role",
        f"text_to_image=openai,base_url={url},model=i,outputs=image",
        "--role",
        "code_interpreter=sandbox",
    ]


def programs(folder: Path, name: str) -> list[str]:
    """The journal's keys of the programs that the sandbox ran, one for each answer."""
    files = run_folder(folder, "unima", name).glob("journal/*.jsonl")
    lines = (line for file in files for line in file.read_text().splitlines())
    return [
        line[6 : line.index('"', 6)]
        for line in lines
        if '"to":["code_interpreter","sandbox"' in line
    ]


def test_a_killed_run_of_unima_asks_nothing_and_runs_no_program_twice(
    tmp_path: Path,
) -> None:
    bubblewrap()
    once, stats = kill_and_go_on(tmp_path, "unima", PlannerState, command, KILLS)
    assert (stats["answered"], stats["unique"]) == (once["answered"], once["unique"])
    assert told(tmp_path, "unima", "killed") == told(tmp_path, "unima", "whole")
    titles = [
        step["title"]
        for row in told(tmp_path, "unima", "whole").values()
        for step in row[2][0][0]["steps"]
    ]
    assert {"judge", "check", "generate"} < set(titles)
    ran = programs(tmp_path, "killed")
    assert len(ran) == len(set(ran)) > 0
    assert sorted(ran) == sorted(programs(tmp_path, "whole"))
