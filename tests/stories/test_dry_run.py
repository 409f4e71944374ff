"""The dry run from outside: what it says is what the run then does, and it does nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import KEY, mmeval, openai, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_task
from tests.support.tiny_media import picture

ROWS, CRITERIA = 6, 3
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
def server() -> Iterator[MockServer]:
    with MockServer(reply='{{"met": "yes", "said": "{key}"}}') as running:
        yield running


@pytest.fixture
def command(server: MockServer, tmp_path: Path) -> list[str]:
    """A task with a picture in each question, two answers to each, and a rubric of three criteria."""
    folder = tmp_path / "tasks"
    rubric = [f"criterion {at}" for at in range(CRITERIA)]
    asked = ({"text": f"What is {i} in <<image1>>?", "media": {"image1": "p.png"}} for i in range(ROWS))
    rows = ({"id": str(i), "input": text, "reference": "a hare", "rubric": rubric} for i, text in enumerate(asked))
    write_task(folder, "look", rows)
    (folder / "look.yaml").write_text(TASK)
    (folder / "look_data" / "p.png").write_bytes(picture())
    judge = ["--role", f"judge=openai,model=j,base_url={server.url}"]
    return [
        "--tasks",
        "look",
        "--include_path",
        str(folder),
        "--output_path",
        str(tmp_path / "runs"),
        *openai(server),
        *judge,
    ]


def calls(text: str) -> dict[str, tuple[int, int]]:
    """Of a dry run's table, the calls to make and those that are kept, by role."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {row[2]: (int(row[3]), int(row[4])) for row in rows[2:]}


def test_the_run_makes_the_calls_that_the_dry_run_has_counted(
    command: list[str], server: MockServer, tmp_path: Path
) -> None:
    looked = mmeval(*command, "--dry_run")

    assert (looked.code, looked.err) == (0, "")
    assert (server.stats()["requests"], server.stats()["connections"], (tmp_path / "runs").exists()) == (0, 0, False)

    assert mmeval(*command).code == 0
    assert calls(looked.out) == {"model": (12, 0), "judge": (36, 0)}
    assert server.stats()["requests"] == 12 + 36


def test_after_the_run_everything_is_kept(command: list[str], server: MockServer) -> None:
    mmeval(*command)
    before = server.stats()["requests"]

    assert calls(mmeval(*command, "--dry_run").out) == {"model": (0, 12), "judge": (0, 36)}
    assert server.stats()["requests"] == before


def test_after_a_part_of_the_run_the_rest_is_counted(command: list[str]) -> None:
    mmeval(*command, "--limit", "2", "--predict_only")

    assert calls(mmeval(*command, "--dry_run").out) == {"model": (8, 4), "judge": (36, 0)}


def test_the_cost_of_all_roles_is_said_where_every_price_is_known(command: list[str], tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    price = "{input: 0, output: 0, per_call: %d}"
    command = [*command, "--dry_run", "--model_cost_config", str(prices)]

    prices.write_text(f"models:\n  m: {price % 1}\n  j: {price % 2}\n")
    assert "cost: 84.00 to 84.00 USD in all" in mmeval(*command).out.splitlines()
    prices.write_text(f"models:\n  m: {price % 1}\n")
    assert "USD in all" not in mmeval(*command).out


def test_the_text_says_everything_that_matters_before_money_is_spent(command: list[str], server: MockServer) -> None:
    text = mmeval(*command, "--dry_run", "--budget_calls", "5").out

    host = server.url.removeprefix("http://").removesuffix("/v1")
    for said in (
        f"model: m, its data go to {host}",
        f"judge: j, its data go to {host}",
        "price: none is known for m",
        "m: {input: 0, output: 0}",
        "budget: the run stops at 5 calls in all",
        "m/default (new)",
        " free",
        "the first request: look, sample 0, to model (m)",
        "max_tokens: 40",
        "What is 0 in <<image1>><image: ",
        "p.png, image/png, ",
    ):
        assert said in text


def test_no_key_is_shown(command: list[str]) -> None:
    done = mmeval(*command, "--dry_run", "--verbosity", "DEBUG")

    assert KEY not in done.out + done.err


def test_a_dry_run_of_a_command_that_would_be_refused_is_refused_alike(command: list[str], tmp_path: Path) -> None:
    bad = [*command, "--budget_usd", "1"]

    looked, ran = mmeval(*bad, "--dry_run"), mmeval(*bad)

    assert (looked.code, looked.err) == (ran.code, ran.err) == (2, ran.err)
    assert not (tmp_path / "runs").exists()


def test_score_stops_at_a_budget_and_goes_on_with_more(command: list[str], server: MockServer, tmp_path: Path) -> None:
    mmeval(*command, "--predict_only")
    judge = command[-2:]

    stopped = mmeval("score", run_folder(tmp_path / "runs"), *judge, "--budget_calls", "22")

    assert (stopped.code, server.stats()["requests"]) == (3, 22)
    assert "(--budget_calls 22): 22 calls" in stopped.error
    assert mmeval("score", run_folder(tmp_path / "runs"), *judge).code == 0
    assert (server.stats()["requests"], server.stats()["repeated_after_answer"]) == (48, 0)


def test_a_budget_that_the_judge_spends_stops_the_run(command: list[str], server: MockServer) -> None:
    stopped = mmeval(*command, "--budget_calls", "20")

    assert (stopped.code, server.stats()["requests"]) == (3, 20)
    assert mmeval(*command).code == 0
    assert (server.stats()["requests"], server.stats()["repeated_after_answer"]) == (48, 0)
