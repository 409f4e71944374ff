import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.report.closing_lines import last_lines
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.settings.report_options import ReportContext
from tests.support.outcomes import NO_JUDGE, outcome, result, task

A, B = task("a"), task("b")
JUDGED = replace(
    B,
    metrics=(replace(B.metrics[0], lacks=(NO_JUDGE,)),),
)


def test_the_last_lines_name_the_files_and_commands_that_can_be_pasted() -> None:
    made = outcome(Path("my runs/m"), result("a"), tasks=(replace(A, layout="paper"),))
    given = {"results": Path("results.json"), "page": Path("index.html")}
    context = ReportContext("m", settings={"tasks": ["a"]})
    lines = last_lines(made, context, **given, width=200).splitlines()
    labels = [line.split()[0] for line in lines if line]
    assert labels == ["page", "results", "tables", "more", "next"]
    assert "mmeval report 'my runs/m' --layout paper" in lines[3]
    narrow = last_lines(made, context, **given, width=40)
    commands = re.findall(
        r"^(?:tables|more|next) +((?:.*\\\n)*.*)$", narrow, re.MULTILINE
    )
    assert [shlex.split(command.replace("\\\n", ""))[-1] for command in commands] == [
        "paper",
        "markdown",
        "model=NAME",
    ]


def test_where_a_metric_needs_something_the_last_lines_have_the_command_that_says_what() -> (
    None
):
    context = ReportContext("m", settings={"tasks": ["a"]})
    for tasks, is_lacking in ((A, B), False), ((A, JUDGED), True):
        made = outcome(Path("runs/m"), result("a"), tasks=tasks)
        lines = last_lines(made, context, results=Path("r"), page=None, width=80)
        assert ("missing  mmeval check a" in lines.splitlines()) is is_lacking


def test_another_model_is_asked_for_the_same_samples() -> None:
    settings = {
        "tasks": ["a"],
        "limit": 5,
        "offset": 0,
        "stratify": ["level", "kind"],
        "samples": {"a": [0, 1]},
    }
    made = outcome(Path("runs/m"), result("a"), tasks=(A,))
    context = ReportContext("m", settings=settings)
    last = last_lines(made, context, results=Path("r"), page=None, width=200)
    samples = """--limit 5 --samples '{"a": [0, 1]}' --stratify level,kind"""
    assert f"mmeval --tasks a {samples} --baseline runs/m " in last.splitlines()[-1]


def next_command(
    made: RunOutcome, model: str = "reference", **context: Any
) -> list[str]:
    """The words of the command after ``next``; empty if there is none."""
    settings = ReportContext(model, settings={"tasks": ["b"]}, **context)
    text = last_lines(made, settings, results=Path("r"), page=None, width=80)
    command = re.search(r"^next ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    return shlex.split(command[1].replace("\\\n", "")) if command else []


def test_where_a_role_is_missing_the_next_command_scores_the_answers_with_it() -> None:
    own = {"captioner": BackendSpec("openai", {"model": "c"})}
    made = outcome(Path("my runs/m"), result("b"), tasks=(JUDGED,), roles=own)
    assert next_command(made) == [
        "mmeval",
        "score",
        "my runs/m",
        "--judge",
        "openai,model=NAME",
    ]


def test_a_run_without_a_number_proposes_no_comparison_and_no_tables() -> None:
    lost = result("b", None, failed=10)
    made = outcome(Path("runs/m"), lost, tasks=(replace(B, layout="paper"),))
    context = ReportContext("m", settings={"tasks": ["b"]})
    lines = last_lines(made, context, results=Path("r"), page=None, width=80)
    assert lines == "\nresults  r\n"


@pytest.mark.parametrize(
    ("model", "args", "expected"),
    [
        ("reference", {}, ["openai", "model=NAME"]),
        (
            "openai",
            {"model": "m", "base_url": "http://x/v1", "api_key": "sk-1"},
            ["openai", "model=NAME,base_url=http://x/v1"],
        ),
        (
            "hf",
            {"pretrained": "org/m", "revision": "abc"},
            ["hf", "pretrained=NAME"],
        ),
    ],
    ids=["of no model", "of a server", "of a local model"],
)
def test_the_next_command_names_a_backend_like_the_one_of_the_run(
    model: str, args: Mapping[str, Any], expected: list[str]
) -> None:
    made = outcome(Path("runs/m"), result("b"), tasks=(B,))
    command = next_command(made, model, model_args=args)
    flag, given_model, args_flag, given_args = command[-4:]
    assert (flag, args_flag) == ("--model", "--model_args")
    assert [given_model, given_args] == expected
