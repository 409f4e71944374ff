import re
import shlex
from dataclasses import replace
from pathlib import Path

from mmeval.report.closing_lines import last_lines
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
        "BACKEND",
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
