"""Code that models write, as users meet it: a metric that runs answers, with its role,
and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.metric import metric
from mmeval.program import Program, Role, ask_one
from mmeval.records import Score, Trial
from tests.support.cli import QUIET, Ended, environment, mmeval
from tests.support.judges import judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.sandbox import bubblewrap
from tests.support.task_folder import installed, write_files, write_rows

SANDBOX = ("--role", "code_interpreter=sandbox,seconds=60")
ROWS = {"double": ("lambda x: 2 * x", "2 * x"), "square": ("lambda x: x * x", "x +* x")}
"""A function that is asked for, and what a model answers: the second cannot be
compiled."""


@metric(range=(0, 1), version="1", source="here")
def passes(
    trial: Trial, code_interpreter: Role, *, reference_at: int = 0
) -> Program[Score]:
    """1 where the answer's expression has the reference's values, else 0."""
    assert trial.output is not None
    wanted, given = trial.sample.references[reference_at].text, trial.output.text
    program = (
        f"f, g = {wanted}, lambda x: {given}\nprint(all(f(x) == g(x) for x in "
        "range(9)))"
    )
    reply = yield from ask_one(code_interpreter.ask(f"```python\n{program}\n```"))
    return Score(
        float(reply.require().text == "True\n"),
        evidence={"said": reply.require().text[-200:]},
    )


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A benchmark of two rows, with the metric as its plugin."""
    rows = [
        {"id": name, "input": name, "reference": reference}
        for name, (reference, _) in ROWS.items()
    ]
    write_rows(tmp_path / "rows", *rows)
    task = (
        "task: functions\ndataset_path: rows\nmetric_list: [{metric: passes}]\n"
        "metadata: {version: 1.0}\n"
    )
    write_files(tmp_path, {"functions.yaml": task})
    plugin = "[mmeval.metrics]\npasses = tests.stories.test_sandbox:passes\n"
    with installed(tmp_path / "site", monkeypatch, {"functions": {}}, more=plugin):
        yield tmp_path


@pytest.fixture
def model(tmp_path: Path) -> Iterator[MockServer]:
    with judge_server(
        tmp_path / "model", {name: answer for name, (_, answer) in ROWS.items()}
    ) as server:
        yield server


def run(bench: Path, server: MockServer, *more: str, **env: str) -> Ended:
    model = ("--model", "openai", "--model_args", f"model=m,base_url={server.url}")
    words = (
        "--tasks",
        str(bench / "functions.yaml"),
        *model,
        *QUIET,
        "-o",
        str(bench / "runs"),
        *more,
    )
    return mmeval(*words, env=environment(**env))


def test_a_metric_scores_by_running_answers_and_a_second_run_runs_none_again(
    bench: Path, model: MockServer
) -> None:
    bubblewrap()
    first = run(bench, model, *SANDBOX)
    assert (first.code, table_row(first)[:1]) == (0, ["0.500"]), first.err
    journal = [*bench.glob("runs/**/journal/*.jsonl")]
    before = [file.read_bytes() for file in journal]
    assert b"SyntaxError" in b"".join(before)
    again = run(bench, model, *SANDBOX)
    assert (again.code, table_row(again)[:1], model.stats()["requests"]) == (
        0,
        ["0.500"],
        2,
    )
    assert (
        sum(
            b"SyntaxError" in file.read_bytes()
            for file in bench.glob("runs/**/journal/*.jsonl")
        )
        == 1
    )


def test_without_bubblewrap_the_run_ends_before_anything_is_asked(
    bench: Path, model: MockServer
) -> None:
    done = run(bench, model, *SANDBOX, PATH=str(bench))
    assert (done.code, model.stats()["requests"]) == (4, 0)
    assert "apt install bubblewrap" in done.error


def table_row(done: Ended) -> list[str]:
    """The cells behind the metric's name in the table that a run prints."""
    [line] = [line for line in done.out.splitlines() if "passes" in line]
    return line.partition("passes")[2].split()
