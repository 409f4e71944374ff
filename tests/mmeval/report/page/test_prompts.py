"""The prompts of a run on its page."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mmeval.report.page.prompts import prompt_rows
from mmeval.results.stored_run import StoredRun


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def run(words: str, recorded: Any, **row: Any) -> StoredRun:
    """A run with one prompt, whose text is "Is it green?"."""
    prompt = {"sha256": sha256("Is it green?"), "words": words, **row}
    tasks = {"t": {"judge_prompts": {"metric": {"colour": recorded}}}}
    stored = SimpleNamespace(
        record={"tasks": tasks},
        ours={"prompts": {"colour": prompt}},
        folder=Path("run"),
    )
    return cast(StoredRun, stored)


RELEASED = run(
    "released",
    {"text": "Is it green?", "released": "trees.colour"},
    texts=[
        {
            "id": "trees.colour",
            "sha256": "b" * 64,
            "source": "me/trees",
            "commit": "c" * 40,
            "path": "judge.py",
        }
    ],
)


def test_a_prompt_of_our_own_has_its_text() -> None:
    (row,) = prompt_rows(run("own", "Is it green?"))
    assert row["text"] == "Is it green?"
    assert row["digest"] == sha256("Is it green?")[:12]


def test_a_released_prompt_has_its_place_in_the_place_of_its_text() -> None:
    (row,) = prompt_rows(RELEASED)
    assert row["text"] == ""
    place = f"trees.colour: me/trees@{'c' * 12}, judge.py, SHA-256 {'b' * 12}"
    assert row["places"] == [place]


def test_a_released_prompt_has_its_text_on_request() -> None:
    (row,) = prompt_rows(RELEASED, with_released=True)
    assert row["text"] == "Is it green?"


def test_prompts_of_several_runs_are_named_after_their_runs() -> None:
    (row,) = prompt_rows(run("own", "Is it green?"), "first")
    assert row["name"] == "first, colour"


def test_a_run_of_an_earlier_version_has_no_prompts() -> None:
    stored = cast(StoredRun, SimpleNamespace(record={}, ours={}))
    assert list(prompt_rows(stored)) == []
