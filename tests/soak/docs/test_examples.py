import sys
from pathlib import Path

import pytest

from tests.soak.support.doc_examples import (
    PAGES,
    ROOT,
    Reader,
    blocks,
    installs,
    matches,
)
from tests.soak.support.fresh_environment import reader_environment
from tests.support.judges import judge_server
from tests.support.mock_openai_server import MockServer

FOLLOWED_ELSEWHERE = {"publish-a-benchmark.md"}
"""``tests/soak/packages/test_publish_a_benchmark.py`` follows it, where nothing is but
what the page has named."""
FOLLOWED_HERE = {
    page.relative_to(ROOT).as_posix(): page
    for page in PAGES
    if page.name not in FOLLOWED_ELSEWHERE
}


@pytest.mark.parametrize("page", FOLLOWED_HERE.values(), ids=FOLLOWED_HERE)
def test_the_examples_of_a_page_do_what_they_show(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = (
        reader_environment(tmp_path_factory.mktemp("venv")).python
        if installs(page)
        else Path(sys.executable)
    )
    with (
        judge_server(tmp_path_factory.mktemp("judge"), reply="Here you are.") as server,
        MockServer(hold_after=0) as slow,
    ):
        reader = Reader(tmp_path, server, slow, python)
        for block in blocks(page):
            reader.follow(block)


@pytest.mark.parametrize(
    ("shown", "found", "same"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a ...\n", "a; and more\n", True),
        ("a ...\n", "b a\n", False),
        ("a ...\n", "a\nb\n", False),
        ("at 2026-01-31 10:00:00\n", "at 2026-11-20 11:54:38\n", True),
        ("[exit 2]\n", "[exit 3]\n", False),
        ("...\n", "a\n[exit 3]\n", False),
    ],
)
def test_what_is_shown_is_compared_with_what_is_printed(
    shown: str, found: str, same: bool
) -> None:
    assert matches(shown, found) is same
