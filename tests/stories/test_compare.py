"""Runs compared as people do it: whole runs of bundled samples, from the command line
and from Python."""

import json
from pathlib import Path
from typing import Any

import pytest

import mmeval as package
from tests.support.cli import QUIET, Ended, mmeval


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the right answers and of empty ones: a group of three tasks, and one with
    repeats."""
    folder = tmp_path_factory.mktemp("runs")
    for model in ("reference", "empty"):
        words = (
            "--model",
            model,
            "--tasks",
            "unim,mmmg_audio_text_order",
            "--data",
            "bundled",
            "--table",
            "none",
        )
        assert mmeval(*words, *QUIET, cwd=folder).code == 0
    return folder / "runs"


def compared(runs: Path, *words: str, other: str = "empty") -> Ended:
    reference = runs / "reference/default"
    return mmeval(
        "compare", reference, runs / other / "default", "--report", "false", *words
    )


def numbers(done: Ended) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["task"], row["slice"]): row for row in json.loads(done.out)["numbers"]}


def test_a_run_beside_itself_differs_in_nothing_and_shows_little(runs: Path) -> None:
    tasks = ("--tasks", "unim_hard,mmmg_audio_text_order")
    done = compared(runs, *tasks, "--format", "json", other="reference")
    rows = numbers(done).values()
    assert (done.code, [row["difference"] for row in rows]) == (0, [0.0, 0.0])
    assert all(row["ci95"][0] < 0 < row["ci95"][1] for row in rows)
    assert (
        compared(runs, *tasks, "--fail_unless_within", "0.01", other="reference").code
        == 5
    )


def test_a_group_is_tested_over_the_clusters_of_its_tasks(runs: Path) -> None:
    row = numbers(compared(runs, "--tasks", "unim", "--format", "json"))["unim", ""]
    assert row["pairs"] == 13
    assert row["clusters"] == 13
    assert row["difference"] == -1.0
    assert row["p"] == 2 / 2**13


def test_python_returns_what_the_command_prints(runs: Path) -> None:
    folders = (runs / "reference/default", runs / "empty/default")
    found = package.compare(*folders, tasks="unim", metrics=["strict_structure"])
    printed = json.loads(
        compared(
            runs, "--tasks", "unim", "--metrics", "strict_structure", "--format", "json"
        ).out
    )
    assert json.loads(json.dumps(found.to_json())) == printed
    assert isinstance(found, package.Comparison)


def test_a_page_is_written_in_place_of_an_older_one_and_of_nothing_else(
    runs: Path, tmp_path: Path
) -> None:
    folders = (runs / "reference/default", runs / "empty/default")
    words = (
        "compare",
        *folders,
        "-o",
        tmp_path / "page",
        "--tasks",
        "mmmg_audio_text_order",
    )
    for _ in range(2):
        assert mmeval(*words).out.endswith(
            f"page      {tmp_path / 'page/index.html'}\n"
        )
    (tmp_path / "page/notes.txt").write_text("mine")
    refused = mmeval(*words)
    assert (refused.code, (tmp_path / "page/notes.txt").read_text()) == (2, "mine")
