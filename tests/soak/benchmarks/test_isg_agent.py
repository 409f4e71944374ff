"""The agent of ISG-Bench from end to end: on scripted replies of a server, and on the
embedded model for every role."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.soak.support.agents import FollowingState
from tests.stories.test_budgets import calls
from tests.support.cli import QUIET, Ended, mmeval, results, run_folder
from tests.support.mock_openai_server import MockServer, Settings

COMMAND = (
    "--data",
    "bundled",
    "--model",
    "isg_agent",
    "--log_samples",
    *QUIET,
    "--role",
    "text_to_image=hf,pretrained=tiny",
)
ROWS = 21


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        server.state = FollowingState(Settings())
        yield server


def run(folder: Path, server: MockServer, *words: str, tasks: str = "isg") -> Ended:
    planner = f"planner=openai,base_url={server.url},model=p"
    return mmeval(
        "--tasks", tasks, *COMMAND, "--role", planner, "--output_path", folder, *words
    )


def samples(folder: Path) -> list[dict[str, Any]]:
    files = run_folder(folder, "isg_agent").glob("samples_*.jsonl")
    return [
        json.loads(line) for file in files for line in file.read_text().splitlines()
    ]


def structural(folder: Path) -> set[float | None]:
    """The structural level of every task and group that has one."""
    rows = results(folder)["mmeval"]["results"]
    return {
        row["value"]
        for row in rows
        if row["metric"] == "isg_structural" and not row["slice"]
    }


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_planner_that_follows_the_layout_has_the_structure_of_every_row(
    profile: str, tmp_path: Path, server: MockServer
) -> None:
    done = run(tmp_path, server, "--model_args", f"profile={profile}")
    assert (done.code, structural(tmp_path)) == (0, {1.0}), done.err
    rows = samples(tmp_path)
    assert (len(rows), {error for row in rows for error in row["error"]}) == (
        ROWS,
        {None},
    )
    for row in rows:
        ((trace,),) = row["trace"]
        titles = [step["title"] for step in trace["steps"]]
        assert (titles[:2], titles[-1]) == (["structure", "plan"], "smooth")
        assert (
            titles.count("tool")
            == titles.count("select")
            == sum(part["type"] == "image" for part in row["parts"][0])
        )
        assert all(step["key"] and "error" not in step for step in trace["steps"])
        assert trace["evidence"]["smoothing"] == {
            "accepted": True,
            "kept": "",
            "retried": 0,
        }
    assert results(tmp_path)["mmeval"]["uses_reference"] == []


def test_what_the_golden_structure_gives_is_marked_everywhere(
    tmp_path: Path, server: MockServer
) -> None:
    words = ("--model_args", "structure=prompt", "--report", "true")
    done = run(tmp_path, server, *words, tasks="isg_golden_structure")
    assert (done.code, structural(tmp_path)) == (0, {1.0}), done.err
    assert {
        step["title"]
        for row in samples(tmp_path)
        for step in row["trace"][0][0]["steps"]
    } == {"plan", "select", "tool", "caption", "smooth"}
    assert len(results(tmp_path)["mmeval"]["uses_reference"]) == ROWS
    folder = run_folder(tmp_path, "isg_agent")
    page = (folder / "report" / "index.html").read_text()
    table, layout = (
        mmeval("report", folder, "--format", "markdown", *how).out
        for how in ((), ("--layout", "isg"))
    )
    for shown in (done.out, page, table, layout):
        assert "ses reference information" in " ".join(shown.split())


def test_the_embedded_model_may_play_every_role(tmp_path: Path) -> None:
    done = mmeval(
        "--tasks",
        "isg_howto",
        *COMMAND,
        "--role",
        "planner=hf,pretrained=tiny",
        "--output_path",
        tmp_path,
    )
    (row,) = samples(tmp_path)
    assert done.code == 3  # it writes no plan
    assert row["error"][0]["kind"] == "bad_reply"
    assert [step["title"] for step in row["trace"][0][0]["steps"]] == [
        "structure",
        "plan",
    ]


def test_a_role_that_is_down_once_is_asked_again(tmp_path: Path) -> None:
    with MockServer() as server:
        server.state = FollowingState(Settings(rate_500=1.0, fault_attempts=1))
        done = run(tmp_path, server, "--retry_on_error", "2", tasks="isg_howto")
        assert (done.code, structural(tmp_path)) == (0, {1.0}), done.err


def test_a_dry_run_counts_plan_tools_captions_and_one_refinement(
    tmp_path: Path, server: MockServer
) -> None:
    done = run(tmp_path, server, "--dry_run", "--table", "full", tasks="isg_howto")
    # structure, plan, refine and smooth; twice a text and a picture, whose tool is
    # selected.
    assert (done.code, calls(done.out)) == (
        0,
        {"model": (1, 0), "planner": (4 + 2 * 2, 0), "text_to_image": (2, 0)},
    )
