"""Released words of a benchmark are in no file that reports and exports write."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, mmeval
from tests.support.released import use_stand_ins

SENTINEL = "a sentinel of the released words"
IDS = (
    "ueval.system",
    "ueval.text",
    "ueval.text.rubric",
    "ueval.image.open",
    "ueval.image.closed",
    "ueval.image.rubric",
    "mme.csq",
    "mme.vcot.first",
    "mme.vcot.later",
)
TEXTS = {prompt_id: f"{SENTINEL} in {prompt_id}" for prompt_id in IDS}
NOT_COMPARABLE = 3
"""The exit code of a comparison without comparable numbers."""


@pytest.fixture
def server() -> Iterator[AbleServer]:
    reply = '{"reason": "so", "criteria_met": true, "verdict": "yes"}'
    with AbleServer(Abilities(json_mode=False, prose=reply)) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose cache has the stand-ins."""
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    use_stand_ins(TEXTS, monkeypatch)
    return tmp_path


def judge_of(server: AbleServer) -> tuple[str, str]:
    return "--judge", f"openai,model=j,base_url={server.url}"


def run(folder: Path, server: AbleServer, words: str) -> Path:
    mmeval(
        "run",
        *("--tasks", "ueval_art", "--data", "bundled", "--model", "reference"),
        *judge_of(server),
        *("--prompts", words, "--output_path", folder / words),
        *QUIET,
    )
    return folder / words / "reference" / "default"


def written(folder: Path) -> str:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return "\n".join(file.read_bytes().decode(errors="replace") for file in files)


def test_reports_and_exports_of_a_benchmark_have_no_released_words(
    folder: Path, server: AbleServer
) -> None:
    of_run = run(folder, server, "released")
    asked = [question["messages"] for question in server.questions]
    assert asked
    assert all(SENTINEL in str(messages) for messages in asked)
    of_own = run(folder, server, "own")
    out = folder / "out"
    commands: list[tuple[Any, ...]] = [
        ("report", of_run, "--output_path", out / "page"),
        ("report", of_run, "--format", "markdown,csv", "--output_path", out / "tables"),
        ("report", of_run, "--layout", "ueval", "--output_path", out / "layout"),
        ("compare", of_own, of_run, "--output_path", out / "pair"),
        ("export", of_run, "--format", "ueval", "--output_path", out / "export"),
        ("score", of_run, *judge_of(server), "--log_samples", *QUIET),
    ]
    printed = ""
    for command in commands:
        done = mmeval(*command)
        assert done.code in (0, NOT_COMPARABLE), done.err
        printed += done.out + done.err
    names = {file.name for file in out.iterdir()}
    assert {"page", "tables", "pair", "export"} <= names
    assert SENTINEL not in printed
    assert SENTINEL not in written(out)
    shared = [*of_run.glob("samples_*.jsonl"), *of_run.glob("results_*.json")]
    assert all(SENTINEL not in file.read_text() for file in shared)


def test_files_about_released_prompts_of_tasks_have_no_released_words(
    folder: Path, server: AbleServer
) -> None:
    runs = {}
    for words in ("own", "released"):
        mmeval(
            "run",
            *("--tasks", "mme_unify_csq,mme_unify_vcot", "--data", "bundled"),
            *("--model", "openai", "--probe", "false"),
            *("--model_args", f"model=m,base_url={server.url},outputs=text+image"),
            *("--prompts", words, "--log_samples", "true"),
            *("--output_path", folder / words, *QUIET),
        )
        runs[words] = folder / words / "m" / "default"
    assert any(SENTINEL in str(question) for question in server.questions)
    of_run = runs["released"]
    out = folder / "out"
    commands: list[tuple[Any, ...]] = [
        ("report", of_run, "--output_path", out / "page"),
        ("compare", runs["own"], of_run, "--output_path", out / "pair"),
        ("export", of_run, "--format", "mme_unify", "--output_path", out / "export"),
    ]
    printed = ""
    for command in commands:
        done = mmeval(*command)
        assert done.code in (0, NOT_COMPARABLE), done.err
        printed += done.out + done.err
    assert SENTINEL not in printed
    assert SENTINEL not in written(out)
    samples = list(of_run.glob("samples_*.jsonl"))
    assert len(samples) == 2
    shared = [*samples, *of_run.glob("results_*.json")]
    assert all(SENTINEL not in file.read_text() for file in shared)
