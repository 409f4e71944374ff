"""An agent in a run: what it asks, what is kept of its steps, and where they are
shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, EXIT_OK, EXIT_USAGE
from tests.support.cli import Ended, mmeval, run_folder
from tests.support.questions import questions
from tests.support.readers import latest, read_samples

AGENT = ("--model", "toy_agent", "--log_samples", "--role")


pytestmark = pytest.mark.usefixtures("toys")


def asked(folder: Path, *flags: str, helper: str = "") -> Ended:
    """A run of the agent over three questions; the toy notes what it is asked."""
    return mmeval(
        *questions(folder, range(3)),
        *AGENT,
        f"helper=toy,log={folder / 'asked'}{helper}",
        *flags,
    )


def lines(folder: Path) -> list[str]:
    file = folder / "asked"
    return (
        [line.split("|")[0] for line in file.read_text().splitlines()]
        if file.exists()
        else []
    )


def samples(folder: Path) -> list[dict[str, Any]]:
    return read_samples(latest(folder / "runs")[1]["ask"])


def traced(folder: Path, *flags: str) -> Any:
    run = mmeval(
        "trace",
        run_folder(folder / "runs", "toy_agent"),
        "--task",
        "ask",
        "--json",
        *flags,
    )
    return json.loads(run.out) if run.code == EXIT_OK else run


def test_the_steps_of_an_answer_stand_in_the_samples_file_and_are_the_same_when_a_run_is_resumed(
    tmp_path: Path,
) -> None:
    assert asked(tmp_path, "--model_args", "note=n").code == EXIT_OK
    found = samples(tmp_path)
    (trace,) = found[0]["trace"][0]
    assert [
        [step[key] for key in ("path", "role", "title")] for step in trace["steps"]
    ] == [
        ["0", "helper", "draft"],
        ["1", "helper", "better"],
    ]
    assert (trace["path"], trace["evidence"]) == (
        "0",
        {"note": "n", "request": "question 0"},
    )
    before = len(lines(tmp_path))
    assert asked(tmp_path, "--model_args", "note=n").code == EXIT_OK
    assert (before, len(lines(tmp_path))) == (6, 6)
    assert [row["trace"] for row in samples(tmp_path)] == [
        row["trace"] for row in found
    ]


def test_a_failed_answer_keeps_its_steps_and_is_asked_from_the_failed_one_on(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("better: draft: answer 1\nbad_request\n")
    assert asked(tmp_path, helper=f",broken={broken}").code == EXIT_INCOMPLETE
    row = samples(tmp_path)[1]
    assert row["error"][0]["kind"] == "bad_request"
    steps = row["trace"][0][0]["steps"]
    assert [step.get("error", {}).get("kind") for step in steps] == [
        None,
        "bad_request",
    ]
    (failed,) = traced(tmp_path, "--sample", "1")
    assert [step["error"] and step["error"]["kind"] for step in failed["steps"]] == [
        None,
        "bad_request",
    ]
    broken.unlink()
    before = len(lines(tmp_path))
    assert asked(tmp_path, helper=f",broken={broken}").code == EXIT_OK
    assert lines(tmp_path)[before:] == ["better: draft: answer 1"]
    assert [len(row["trace"][0][0]["steps"]) for row in samples(tmp_path)] == [2, 2, 2]


def test_a_trace_says_what_each_step_was_asked_and_said_and_asks_nobody(
    tmp_path: Path,
) -> None:
    asked(tmp_path)
    before = len(lines(tmp_path))
    (step,) = traced(tmp_path, "--sample", "2")
    assert (step["role"], step["parts"], step["evidence"]["request"]) == (
        "model",
        step["steps"][1]["parts"],
        "question 2",
    )
    found = [
        [
            one["title"],
            one["messages"][0]["content"][0]["text"],
            one["parts"][0]["text"],
        ]
        for one in step["steps"]
    ]
    assert found == [
        ["draft", "draft: question 2", "draft: answer 2"],
        ["better", "better: draft: answer 2", "better: draft: answer 2"],
    ]
    assert len(lines(tmp_path)) == before
    for more in (
        ["--sample", "x"],
        ["--sample", "1", "--repeat", "1"],
        ["--sample", "1", "--task", "y"],
    ):
        assert traced(tmp_path, *more).code == EXIT_USAGE


def test_the_roles_of_an_agent_are_listed_and_checked(tmp_path: Path) -> None:
    listed = mmeval("ls", "backends", "toy_agent").out
    assert "helper, [text_to_image]" in listed
    found = mmeval("check", "--model", "toy_agent", "--role", "helper=toy", "--json")
    assert "can call helper, [text_to_image]; here it calls helper" in found.out
    lacking = mmeval("check", "--model", "toy_agent", "--json")
    assert (lacking.code, "--role helper=BACKEND" in lacking.out) == (
        EXIT_MISSING,
        True,
    )


def test_a_dry_run_finds_the_kept_steps_of_an_answer_that_is_not_finished(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("better\nbad_request\n")
    asked(tmp_path, helper=f",broken={broken}")
    done = asked(tmp_path, "--dry_run", "--table", "full", helper=f",broken={broken}")
    assert done.code == EXIT_OK
    (row,) = (line.split("|") for line in done.out.splitlines() if "|helper|" in line)
    assert [cell.strip() for cell in row[3:6]] == ["helper", "3", "3"]
