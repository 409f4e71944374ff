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

REPLIES = {"rank.md": "My drawing ({letter}), by {model}."}
"""What the models of a page reply; those of all others reply ``REPLY``."""
REPLY = "Here you are."
SUMS = {
    f"What is {a} times {b}?": str(a * b) if b != 7 else "about fifty"
    for a in range(2, 11)
    for b in range(2, 11)
}
"""The sums of ``gate.md``, with the answers of a model that is poor at sevens."""
REFUSED = {
    drawing: {"met": "no"}
    for drawing in ("(A), by small", "(B), by small", "(C), by small", "(D), by large")
}
"""Drawings of ``rank.md`` that do not meet a criterion."""
FOLLOWED_ELSEWHERE = {"publish.md"}
"""``tests/soak/packages/test_publish.py`` follows it, where nothing is but
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
    reply = REPLIES.get(page.name, REPLY)
    with (
        judge_server(
            tmp_path_factory.mktemp("judge"), SUMS | REFUSED, reply=reply
        ) as server,
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
