"""The words of prompts in a score, in a file of settings, and beside --judge_prompts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.prompts.test_released_prompts import (
    RELEASED,
    ROW,
    SCRIPT,
    SENT,
    SENTINEL,
    TASK,
    TASK_TEMPLATE,
    prepared,
    run,
    sent,
)
from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, Ended, mmeval, results


@pytest.fixture
def server() -> Iterator[AbleServer]:
    prose = '{"reason": "so", "verdict": "yes"}'
    with AbleServer(Abilities(json_mode=False, prose=prose)) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "test.jsonl").write_text(json.dumps(ROW))
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "released.yaml").write_text(RELEASED)
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "judge.py").write_text(SCRIPT)
    return tmp_path


def score(folder: Path, server: AbleServer, *words: str | Path) -> Ended:
    of_run = folder / "runs" / "reference" / "default"
    judge = f"openai,model=other,base_url={server.url}"
    return mmeval("score", of_run, "--judge", judge, *words, *QUIET)


def test_a_run_is_scored_again_in_the_released_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "own")
    done = score(folder, server, "--prompts", "released")
    assert done.code == 0, done.err
    assert sent(server)[1:] == [[{"role": "user", "content": SENT}]]


def test_a_run_in_released_words_is_scored_again_in_our_own(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    score(folder, server, "--prompts", "own")
    assert SENTINEL not in json.dumps(sent(server)[1:])


def test_a_score_in_released_words_keeps_the_prompt_of_the_task(
    folder: Path, server: AbleServer
) -> None:
    (folder / "released.yaml").write_text(RELEASED + TASK_TEMPLATE)
    prepared(folder)
    run(folder, server, "own")
    score(folder, server, "--prompts", "released")
    assert "task_prompt" not in results(folder / "runs")["configs"]["t"]


def test_a_file_of_settings_may_choose_the_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    settings = folder / "run.yaml"
    settings.write_text("prompts: released\n")
    mmeval(
        "run",
        *("--tasks", folder / "t.yaml", "--model", "reference"),
        *("--judge", f"openai,model=j,base_url={server.url}"),
        *("--config", settings, "--output_path", folder / "runs", *QUIET),
    )
    assert sent(server) == [[{"role": "user", "content": SENT}]]


def test_the_prompts_of_judges_win_over_released_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "judge_yes_no.jinja").write_text("Is {{ answer }} a tree? {{ form }}")
    run(folder, server, "own")
    words = ("--prompts", "released", "--judge_prompts", prompts)
    score(folder, server, *words)
    ((message,),) = sent(server)[1:]
    assert message["content"].startswith("Is answer 0 a tree?")


def test_a_folder_replaces_the_prompt_of_a_task_by_its_name(
    folder: Path, server: AbleServer
) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "t.jinja").write_text("[system]\nBe brief.\n[user]\nAsked: {{ input }}")
    mmeval(
        "run",
        *("--tasks", folder / "t.yaml", "--model", "openai"),
        *("--model_args", f"model=m,base_url={server.url}", "--probe", "false"),
        *("--prompts", prompts, "--predict_only", "true"),
        *("--output_path", folder / "runs", *QUIET),
    )
    assert sent(server) == [
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Asked: question"},
        ]
    ]


def test_a_catalogue_with_a_bad_recipe_fails_the_check(
    folder: Path, server: AbleServer
) -> None:
    bad = RELEASED.replace("'name :JUDGE'", "'run judge.py'")
    (folder / "released.yaml").write_text(bad)
    judge = f"openai,model=j,base_url={server.url}"
    done = mmeval("check", folder / "t.yaml", "--judge", judge, "--probe", "false")
    assert done.code == 2
    assert "is not a recipe" in " ".join(done.out.split())


def test_a_check_names_a_released_prompt_that_is_not_here(
    folder: Path, server: AbleServer
) -> None:
    judge = f"openai,model=j,base_url={server.url}"
    words = ("--judge", judge, "--prompts", "released", "--probe", "false")
    done = mmeval("check", folder / "t.yaml", *words)
    assert done.code == 4
    assert "trees.judge" in done.out


def test_the_prompt_of_a_task_reads_no_reference(
    folder: Path, server: AbleServer
) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "t.jinja").write_text("The answer is {{ reference }}.")
    done = run(folder, server, prompts)
    assert done.code == 2
    assert "'reference'" in done.err
