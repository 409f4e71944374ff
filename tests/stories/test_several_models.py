"""Several models in one command: a configuration file with ``models``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmeval.results.board import BoardRun, read_board
from tests.support.cli import mmeval, results
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions

COUNT = 12


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(reply="said") as running:
        yield running


def entry(name: str, server: MockServer, **more: Any) -> dict[str, Any]:
    arguments = {"base_url": server.url, "model": name}
    return {"name": name, "model": "openai", "model_args": arguments, **more}


def unreachable(name: str) -> dict[str, Any]:
    """A model whose weights are not on this machine."""
    arguments = {"pretrained": "nobody/no-such-model"}
    return {"name": name, "model": "hf", "model_args": arguments}


def command(folder: Path, *entries: dict[str, Any], **more: Any) -> list[str]:
    """The command that runs these models on the questions."""
    write_questions(folder / "tasks", "ask", range(COUNT))
    config = {
        "tasks": "ask",
        "include_path": [str(folder / "tasks")],
        "output_path": str(folder / "runs"),
        "score_workers": 0,
        "report": False,
        "models": list(entries),
        **more,
    }
    file = folder / "models.yaml"
    file.write_text(yaml.safe_dump(config))
    return ["run", "--config", str(file)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_model_has_a_folder_and_all_have_one_summary(
    jobs: str, server: MockServer, tmp_path: Path
) -> None:
    entries = [entry("a", server, group="Open"), entry("b", server)]
    done = mmeval(*command(tmp_path, *entries), "--jobs", jobs)
    assert done.code == 0, done.err
    assert results(tmp_path / "runs" / "a")["model_name"] == "a"
    assert results(tmp_path / "runs" / "b")["model_name"] == "b"
    header, row, *_ = done.out.splitlines()
    assert header.split() == ["a", "b"]
    assert row.startswith("ask, exact_match")


@pytest.mark.parametrize(("form", "tables"), [("full", 2), ("short", 0), ("none", 0)])
def test_the_full_table_of_each_model_is_printed_on_request(
    form: str, tables: int, server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    done = mmeval(*run, "--table", form)
    assert done.out.count("|exact_match") == tables
    assert ("compare" in done.out) == (form != "none")


def test_two_jobs_ask_two_models_at_the_same_time(tmp_path: Path) -> None:
    with MockServer(reply="said", latency=0.05) as server:
        run = command(tmp_path, entry("a", server), entry("b", server))
        mmeval(*run, "--max_connections", "1", "--jobs", "2")
        assert server.stats()["max_concurrency"] == 2


def test_the_board_lists_the_runs_with_their_groups(
    server: MockServer, tmp_path: Path
) -> None:
    entries = [entry("a", server, group="Open"), entry("b", server)]
    mmeval(*command(tmp_path, *entries))
    runs = tmp_path / "runs"
    assert read_board(runs / "default.board.yaml").rows == (
        BoardRun(runs / "a" / "default", "a", "Open"),
        BoardRun(runs / "b" / "default", "b", ""),
    )


def test_the_same_command_asks_only_what_is_missing(
    server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    mmeval(*run, "--only", "a")
    assert server.stats()["requests"] == COUNT
    mmeval(*run)
    assert server.stats()["requests"] == 2 * COUNT
    mmeval(*run)
    assert server.stats()["requests"] == 2 * COUNT


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_model_that_cannot_start_leaves_the_others_finished(
    jobs: str, server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, unreachable("absent"), entry("b", server))
    done = mmeval(*run, "--jobs", jobs)
    assert done.code == 3
    assert results(tmp_path / "runs" / "b")["model_name"] == "b"
    assert "not complete  absent:" in done.out


def test_an_entry_that_changed_is_refused_alone(
    server: MockServer, tmp_path: Path
) -> None:
    mmeval(*command(tmp_path, entry("a", server), entry("b", server)))
    changed = entry("a", server)
    changed["model_args"]["model"] = "other"
    done = mmeval(*command(tmp_path, changed, entry("b", server)))
    assert done.code == 3
    assert "not complete  a:" in done.out
    assert server.stats()["requests"] == 2 * COUNT
    assert "the same command continues" not in done.err


def test_why_a_model_is_not_complete_is_shown_without_a_table(
    server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, unreachable("absent"), entry("b", server))
    done = mmeval(*run, "--table", "none")
    assert not done.out
    assert "not complete  absent:" in done.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_budget_is_that_of_all_models(
    jobs: str, server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    done = mmeval(*run, "--budget_calls", str(COUNT + 3), "--jobs", jobs)
    assert done.code == 3
    assert server.stats()["requests"] == COUNT + 3
    assert "the budget of all models is spent" in done.out


def test_the_budget_counts_what_other_models_spent_before(
    server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    budget = ("--budget_calls", str(COUNT + 3))
    mmeval(*run, "--only", "b", *budget)
    mmeval(*run, "--only", "a", *budget)
    assert server.stats()["requests"] == COUNT + 3


def test_a_dry_run_prints_a_row_a_model_and_a_sum(
    server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    done = mmeval(*run, "--dry_run")
    assert done.code == 0, done.err
    rows = {line.split()[0]: line.split()[1:3] for line in done.out.splitlines()[3:6]}
    assert rows == {"a": ["12", "0"], "b": ["12", "0"], "all": ["24", "0"]}
    assert server.stats()["requests"] == 0


def test_a_dry_run_as_json_has_a_forecast_for_each_model(
    server: MockServer, tmp_path: Path
) -> None:
    run = command(tmp_path, entry("a", server), entry("b", server))
    done = mmeval(*run, "--dry_run", "--format", "json")
    models = json.loads(done.out)["models"]
    assert [models[name]["tasks"][0]["trials"] for name in "ab"] == [COUNT, COUNT]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--model", "hf"), "--model"),
        (("--model_args", "a=b"), "--model_args"),
        (("--model_tag", "x"), "--model_tag"),
        (("--shard", "1/2"), "--shard"),
        (("--output_path", "runs/all.json"), "--output_path"),
        (("--only", "c"), "--only c"),
    ],
)
def test_a_flag_that_contradicts_the_models_is_refused_before_anything_is_sent(
    flags: tuple[str, ...], words: str, server: MockServer, tmp_path: Path
) -> None:
    done = mmeval(*command(tmp_path, entry("a", server)), *flags)
    assert done.code == 2
    assert words in done.error
    assert server.stats()["requests"] == 0


def test_a_wrong_entry_is_refused_before_anything_is_sent(
    server: MockServer, tmp_path: Path
) -> None:
    wrong = entry("b", server, max_connections="many")
    done = mmeval(*command(tmp_path, entry("a", server), wrong))
    assert done.code == 2
    assert "models.yaml:" in done.error
    assert server.stats()["requests"] == 0


@pytest.mark.parametrize("flag", ["--only", "--jobs"])
def test_flags_for_models_have_no_effect_without_them(
    flag: str, tmp_path: Path
) -> None:
    done = mmeval("run", "--tasks", "isg", "--model", "empty", flag, "2")
    assert done.code == 2
    assert flag in done.error


def test_show_config_prints_the_models_without_secrets(
    server: MockServer, tmp_path: Path
) -> None:
    secret = entry("a", server)
    secret["model_args"]["api_key"] = "sk-hidden"
    done = mmeval(*command(tmp_path, secret), "--show_config")
    assert "sk-hidden" not in done.out
    assert yaml.safe_load(done.out)["models"][0]["name"] == "a"
