from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.doc_examples import PAGES, ROOT, Command, Reader, blocks, commands, installs, matches
from tests.support.judges import judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.reader_environment import reader_environment

FOLLOWED_BY = {"publish-a-benchmark.md": "tests/soak/packages/test_publish_a_benchmark.py"}
"""Pages that a test of their own follows, in an environment that holds nothing but what the page has named."""


@pytest.mark.parametrize(("page", "test"), FOLLOWED_BY.items())
def test_a_page_with_a_test_of_its_own_is_followed_by_it(page: str, test: str) -> None:
    text = (ROOT / test).read_text()

    assert f'"{page}"' in text
    assert "in blocks(" in text
    assert ".follow(block)" in text


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in FOLLOWED_BY], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_examples_of_a_page_do_what_they_show(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = reader_environment(tmp_path_factory.mktemp("venv")).python if installs(page) else Path(sys.executable)
    with (
        judge_server(tmp_path_factory.mktemp("judge"), reply="Here you are.") as server,
        MockServer(latency=2.0) as slow,
    ):
        reader = Reader(tmp_path, server, slow, python)

        for block in blocks(page):
            reader.follow(block)


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
)
def test_what_is_shown_is_compared_with_what_is_printed(shown: str, found: str, same: bool) -> None:
    assert matches(shown, found) is same


def test_a_command_may_go_on_in_the_next_line() -> None:
    assert list(commands("$ a \\\n  b\nout\n$ c\n")) == [Command("a \\\n  b", "out\n"), Command("c", "")]


def test_a_failing_command_shows_its_exit_code(tmp_path: Path) -> None:
    with MockServer() as server:
        assert Reader(tmp_path, server).printed(Command("echo no; exit 3", "")) == "no\n[exit 3]\n"
