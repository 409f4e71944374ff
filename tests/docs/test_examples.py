from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.doc_examples import Command, Reader, blocks, commands, matches
from tests.support.judges import judge_server

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_MODELS = {"local-models.md", "writing-an-adapter.md"}
"""Pages that run a local model; each run imports torch."""


def cases() -> Iterator[Any]:
    # What ``pytest.param`` makes has no public type.
    for page in PAGES:
        marks = [pytest.mark.slow] if page.name in WITH_MODELS else []
        yield pytest.param(page, id=page.relative_to(ROOT).as_posix(), marks=marks)


@pytest.mark.parametrize("page", list(cases()))
def test_the_examples_of_a_page_do_what_they_show(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with judge_server(tmp_path_factory.mktemp("judge"), reply="Here you are.") as server:
        reader = Reader(tmp_path, server.url)

        for block in blocks(page):
            reader.follow(block)


def test_few_examples_are_left_alone() -> None:
    console = [block for page in PAGES for block in blocks(page) if block.language == "console"]

    assert sum("no-run" in block.words for block in console) < len(console) / 4


@pytest.mark.parametrize(
    ("shown", "found", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "b\n", False),
        ("", "a\n", False),
        ("at 2026-01-31 10:00:00\n", "at 2026-11-20 11:54:38\n", True),
        ("[exit 2]\n", "[exit 3]\n", False),
        ("...\n", "a\n[exit 3]\n", False),
    ],
    ids=[
        "same",
        "other",
        "left out",
        "left out but other",
        "nothing shown",
        "another time",
        "another exit code",
        "an exit code that is left out",
    ],
)
def test_what_is_shown_is_compared_with_what_is_printed(shown: str, found: str, same: bool) -> None:
    assert matches(shown, found) is same


def test_a_command_may_go_on_in_the_next_line() -> None:
    assert list(commands("$ a \\\n  b\nout\n$ c\n")) == [Command("a \\\n  b", "out\n"), Command("c", "")]


def test_a_failing_command_shows_its_exit_code(tmp_path: Path) -> None:
    assert Reader(tmp_path, "http://127.0.0.1:1/v1").printed(Command("echo no; exit 3", "")) == "no\n[exit 3]\n"
