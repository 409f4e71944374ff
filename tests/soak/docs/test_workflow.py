"""The workflow that the tutorial about a gate prints: its steps run as they stand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.soak.docs.test_examples import REPLY, SUMS
from tests.soak.support.doc_examples import ROOT, Block, Command, Reader, blocks
from tests.support.judges import judge_server

PAGE = ROOT / "docs" / "tutorials" / "gate.md"
RUN_ID = "${{ github.run_id }}"


@pytest.fixture
def files() -> dict[str, Block]:
    """The files that the page has its reader save, by their names."""
    return {block.file: block for block in blocks(PAGE) if block.file}


@pytest.fixture
def workflow(files: dict[str, Block]) -> Any:
    return yaml.safe_load(files[".github/workflows/nightly.yml"].text)


def test_two_nights_of_the_workflow_share_one_baseline(
    files: dict[str, Block], workflow: Any, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    steps = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]

    with judge_server(tmp_path / "server", SUMS, reply=REPLY) as server:
        reader = Reader(home, server)
        for block in files.values():
            reader.follow(block)
        for night in ("1", "2"):
            for step in steps:
                printed = reader.printed(Command(step.replace(RUN_ID, night), ""))
                assert "[exit " not in printed, f"{step}\n{printed}"

    runs = {folder.name for folder in (home / "runs" / "omni").iterdir()}
    assert runs == {"baseline", "night-1", "night-2"}


def test_the_cache_keeps_the_runs_of_every_night(workflow: Any) -> None:
    by_action = {
        step["uses"].partition("@")[0]: step
        for step in workflow["jobs"]["gate"]["steps"]
        if "uses" in step
    }
    restored = by_action["actions/cache/restore"]["with"]
    saved = by_action["actions/cache/save"]

    # a night that failed sends only what is missing when it is run again
    assert saved["if"] == "always()"
    assert saved["with"] == {"path": "runs", "key": restored["key"]}
    assert restored["path"] == "runs"
    assert restored["key"].startswith(restored["restore-keys"])
