"""Answers to UniM that are exported and replayed."""

from pathlib import Path
from typing import Any

import pytest

from tests.stories.test_interchange import MODEL, UNIM, WOVEN, replay, told
from tests.support.cli import mmeval, openai, results, run_folder
from tests.support.mock_openai_server import MockServer

LEVELS = ("unim_easy", "unim_medium", "unim_hard")


COUNTED = ("strict_structure", "lenient_structure")


@pytest.fixture(scope="module")
def woven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of UniM by a model that thinks, takes no 3D, and forgets media that it
    announces."""
    folder = tmp_path_factory.mktemp("woven")
    with MockServer(reply=WOVEN) as server:
        model = openai(
            server,
            model=MODEL,
            inputs="text+image+audio+document+video",
            outputs="text+image+audio",
        )
        done = mmeval(*UNIM, *model, "--output_path", folder / "runs")
    assert done.code == 0, done.err
    return folder / "runs" / MODEL / "default"


@pytest.fixture(scope="module")
def released(woven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    done = mmeval("export", woven, "--format", "unim", "-o", folder)
    assert done.code == 3
    assert [said.partition(":")[0] for said in done.warnings] == ["answers"]
    return folder / MODEL


def structure(output: Path) -> list[Any]:
    return [
        results(output)["results"][task][f"{metric},none"]
        for task in LEVELS
        for metric in COUNTED
    ]


def test_a_replay_of_an_export_of_unim_has_the_same_scores(
    woven: Path, released: Path, tmp_path: Path
) -> None:
    done = replay(released, tmp_path, format="unim", tasks=UNIM)
    assert done.code == 0, done.err
    assert told(run_folder(tmp_path, "again"), LEVELS) == told(woven, LEVELS)
    assert structure(tmp_path) == structure(woven.parents[1])
    assert "13 of 13" in done.err
