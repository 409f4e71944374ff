"""Budgets and dry runs from outside: whole runs against a server that counts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import KEY, QUIET, mmeval, openai, results, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions, write_task
from tests.support.tiny_media import picture

COUNT = 60
CHARGED = {
    "usd": 0.3,
    "calls": COUNT,
    "input_tokens": 3 * COUNT,
    "output_tokens": 2 * COUNT,
    "images": 0,
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(reply="said") as running:
        yield running


@pytest.fixture
def command(server: MockServer, tmp_path: Path) -> list[str]:
    """Sixty questions, each of which takes three tokens in and two out, which cost half
    a cent."""
    write_questions(tmp_path / "tasks", "ask", range(10, 10 + COUNT))
    (tmp_path / "prices.yaml").write_text("models:\n  m: {input: 1000, output: 1000}\n")
    places = [
        "--include_path",
        str(tmp_path / "tasks"),
        "--output_path",
        str(tmp_path / "runs"),
        *QUIET,
    ]
    return [
        "--tasks",
        "ask",
        *places,
        *openai(server),
        "--model_cost_config",
        str(tmp_path / "prices.yaml"),
    ]


def journalled(folder: Path) -> int:
    return sum(
        len(file.read_bytes().splitlines())
        for file in (run_folder(folder) / "journal").glob("*.jsonl")
    )


@pytest.mark.parametrize(
    ("flag", "limit"), [("calls", "20"), ("tokens", "100"), ("usd", "0.1")]
)
def test_a_budget_stops_the_run(
    flag: str, limit: str, server: MockServer, command: list[str], tmp_path: Path
) -> None:
    stopped = mmeval(*command, f"--budget_{flag}", limit)
    assert (
        stopped.code,
        server.stats()["requests"],
        journalled(tmp_path / "runs"),
    ) == (3, 20, 20)
    assert f"--budget_{flag} {limit} (calls: 20," in stopped.error
    assert re.search(r"tokens in: 60, out: 40,.*0\.10 USD", stopped.error)
    assert f"20 of {COUNT}" in stopped.error
    done = mmeval(*command)
    assert (done.code, server.stats()["requests"], server.stats()["repeated"]) == (
        0,
        COUNT,
        0,
    ), done.err


def test_failed_tries_count_and_a_spent_budget_sends_nothing(
    server: MockServer, command: list[str]
) -> None:
    server.state.settings.rate_429, server.state.settings.retry_after = 0.4, 0.001
    for limit in (20, 40, 40):
        mmeval(*command, "--budget_calls", str(limit))
        assert server.stats()["requests"] == limit


@pytest.mark.parametrize("known", [True, False], ids=["a price", "no price"])
def test_what_was_spent_stands_in_the_results(
    known: bool, command: list[str], tmp_path: Path
) -> None:
    if not known:
        (tmp_path / "prices.yaml").write_text("models: {}\n")
    done = mmeval(*command)
    charged = {**CHARGED, "usd": 0.3 if known else None}
    spent = results(tmp_path / "runs")["mmeval"]["spent"]
    assert spent == {**charged, "by_role": [{"role": "model", "model": "m", **charged}]}
    assert (
        sum(
            ("USD" in line) == known
            for line in done.lines
            if re.search(r"\b60\b.*\b180\b.*\b120\b", line)
        )
        == 1
    )


TASK = """\
task: look
loader: interleaved
dataset_path: look_data
output_modalities: [text]
repeats: 2
generation_kwargs: {max_gen_toks: 40}
metric_list:
  - metric: exact_match
  - metric: rubric_judge
metadata: {version: 1.0}
"""


@pytest.fixture
def judge() -> Iterator[MockServer]:
    with MockServer(reply='{{"met": "yes", "said": "{key}"}}') as running:
        yield running


@pytest.fixture
def judged(judge: MockServer, tmp_path: Path) -> list[str]:
    """Six questions with a picture each, two answers to each (12 calls), and a rubric
    of three criteria (36)."""
    folder = tmp_path / "tasks"
    rest = {"reference": "a hare", "rubric": [f"criterion {at}" for at in range(3)]}
    asked: Any = (
        {"text": f"What is {i} in <<image1>>?", "media": {"image1": "p.png"}}
        for i in range(6)
    )
    write_task(
        folder,
        "look",
        ({"id": str(i), "input": question, **rest} for i, question in enumerate(asked)),
    )
    (folder / "look.yaml").write_text(TASK)
    (folder / "look_data" / "p.png").write_bytes(picture())
    where = [
        "--tasks",
        "look",
        "--include_path",
        str(folder),
        "--output_path",
        str(tmp_path / "runs"),
        *QUIET,
    ]
    return [
        *where,
        *openai(judge),
        "--role",
        f"judge=openai,model=j,base_url={judge.url}",
    ]


def calls(text: str) -> dict[str, tuple[int, int]]:
    """Of a dry run's table, the calls to make and those that are kept, by role."""
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return {row[2]: (int(row[3]), int(row[4])) for row in rows[2:]}


def test_the_run_makes_the_calls_of_the_dry_run(
    judged: list[str], judge: MockServer, tmp_path: Path
) -> None:
    looked = mmeval(*judged, "--dry_run", "--table", "full")
    assert looked.code == 0
    assert looked.err == ""
    assert judge.stats()["connections"] == 0
    assert not (tmp_path / "runs").exists()
    assert calls(looked.out) == {"model": (12, 0), "judge": (36, 0)}
    assert mmeval(*judged, "--limit", "2", "--predict_only").code == 0
    assert calls(mmeval(*judged, "--dry_run", "--table", "full").out) == {
        "model": (8, 4),
        "judge": (36, 0),
    }
    assert (mmeval(*judged).code, judge.stats()["requests"]) == (0, 48)
    assert calls(mmeval(*judged, "--dry_run", "--table", "full").out) == {
        "model": (0, 12),
        "judge": (0, 36),
    }


def test_the_dry_run_shows_what_is_sent_and_where_and_no_key(
    judged: list[str], judge: MockServer
) -> None:
    done = mmeval(*judged, "--dry_run", "--verbosity", "DEBUG")
    host = judge.url.removeprefix("http://").removesuffix("/v1")
    assert done.out.count(host) == 2
    assert all(
        shown in done.out
        for shown in ("max_tokens: 40", "What is 0 in <<image1>>", "p.png, image/png, ")
    )
    assert KEY not in done.out + done.err


def test_a_budget_of_a_judge_stops_run_and_scoring(
    judged: list[str], judge: MockServer, tmp_path: Path
) -> None:
    run = mmeval(*judged, "--budget_calls", "20")
    asked = judge.stats()["requests"]
    score = mmeval(
        "score",
        run_folder(tmp_path / "runs"),
        *judged[-2:],
        *QUIET,
        "--budget_calls",
        "22",
    )
    assert run.code == 3, score.err
    assert asked == 20
    assert score.code == 3
    assert judge.stats()["requests"] == 22
    assert mmeval(*judged).code == 0
    assert (judge.stats()["requests"], judge.stats()["repeated_after_answer"]) == (
        48,
        0,
    )
