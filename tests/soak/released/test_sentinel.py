"""Released words of a benchmark's judge are in no file that reports and exports write."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmeval.task.released import chosen
from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, mmeval

SENTINEL = "a sentinel of the released words"
COMMIT = "c" * 40
FIELDS = {"<<question>>": ["question"], "<<rubric_item>>": ["criterion"]}
NOT_COMPARABLE = 3
"""The exit code of a comparison without comparable numbers."""
PROMPTS = ("ueval_text", "ueval_image_open", "ueval_image_closed")


def text_of(prompt: str) -> str:
    return f"{SENTINEL} for {prompt}: <<question>>, <<rubric_item>>"


def catalogue() -> dict[str, Any]:
    """A catalogue of stand-ins for the judge's prompts, all in one file."""
    prompts = []
    templates = []
    for number, name in enumerate(PROMPTS):
        digest = hashlib.sha256(text_of(name).encode()).hexdigest()
        recipe = f"name :PROMPTS[{number}]"
        prompt_id = f"stand_in.{name}"
        prompts.append({"id": prompt_id, "recipe": recipe, "sha256": digest})
        templates.append({"prompt": name, "ids": [prompt_id], "fields": FIELDS})
    source = {"repository": "me/ueval", "commit": COMMIT, "license": "none"}
    file = {"source": "ueval", "path": "judge.py", "prompts": prompts}
    return {"sources": {"ueval": source}, "files": [file], "templates": templates}


@pytest.fixture
def server() -> Iterator[AbleServer]:
    reply = '{"reason": "so", "criteria_met": true, "verdict": "yes"}'
    with AbleServer(Abilities(json_mode=False, prose=reply)) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose cache has the stand-ins."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(cache))
    clone = cache / "prompts" / f"me+ueval@{COMMIT}"
    clone.mkdir(parents=True)
    texts = [text_of(name) for name in PROMPTS]
    (clone / "judge.py").write_text(f"PROMPTS = {texts!r}\n")
    file = tmp_path / "released.yaml"
    file.write_text(yaml.safe_dump(catalogue()))
    monkeypatch.setattr(chosen, "catalogue_files", lambda tasks: [file])
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
