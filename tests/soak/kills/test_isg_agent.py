"""Killed runs of the agent of ISG-Bench, refinements among them: nothing is asked
twice, the answers are the same."""

from pathlib import Path

from tests.soak.kills.test_agents import KILLS
from tests.soak.support.agents import StumblingState, kill_and_go_on, told
from tests.support.cli import QUIET


def command(folder: Path, url: str, name: str) -> list[str]:
    return [
        "--tasks",
        "isg",
        "--data",
        "bundled",
        "--model",
        "isg_agent",
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
    ]


def test_a_killed_run_of_the_agent_asks_nothing_twice(tmp_path: Path) -> None:
    once, stats = kill_and_go_on(tmp_path, "isg_agent", StumblingState, command, KILLS)
    assert (stats["repeated_after_answer"], stats["answered"]) == (0, once["answered"])
    whole = told(tmp_path, "isg_agent", "whole")
    assert (told(tmp_path, "isg_agent", "killed"), len(whole)) == (whole, 21)
    evidence = [row[2][0][0]["evidence"] for row in whole.values()]
    assert {one["rounds"] for one in evidence} == {0, 1, 2}
    assert {one["smoothing"]["retried"] for one in evidence if one["smoothing"]} >= {
        0,
        1,
    }
