import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.report import terminal
from mmeval.report.terminal import write_line
from mmeval.wording import escaped

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\udc80", "\\udc80"),
        ("\x9b31m", "\\x9b31m"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\u65e5\u672c\u3000\u00e9 \u2191", "\u65e5\u672c\u3000\u00e9 \u2191"),
    ],
    ids=["escape", "return and bell", "direction", "surrogate", "C1", "lines and tabs", "other scripts"],
)
def test_text_that_could_steer_a_terminal_is_spelt_out(text: str, safe: str) -> None:
    assert escaped(text) == safe


def test_a_line_on_stderr_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    write_line("error: \x1b[31mred")

    assert capsys.readouterr().err == "error: \\x1b[31mred\n"


def test_a_reader_of_stderr_that_has_gone_does_not_hide_the_exit_code() -> None:
    script = "import sys; from mmeval.report.terminal import write_line; [write_line('x') for _ in 'ab']; sys.exit(3)"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run([sys.executable, "-c", script], stderr=pipe, cwd=ROOT, check=False)

    assert done.returncode == 3


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("mmeval")
    handlers, level = list(root.handlers), ours.level
    yield
    root.handlers[:] = handlers
    ours.setLevel(level)


def test_a_line_has_time_level_place_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.configure("INFO")

    logging.getLogger("mmeval.somewhere").info("kept %d", 3)

    line = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     \[test_terminal:\d+\] kept 3\n", line)


def test_lines_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.configure("WARNING")

    logging.getLogger("mmeval.somewhere").info("not this")
    logging.getLogger("mmeval.somewhere").warning("this")

    captured = capsys.readouterr()
    assert "not this" not in captured.err
    assert captured.err.endswith("this\n")
    assert captured.out == ""


def test_what_a_server_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.configure("INFO")

    logging.getLogger("mmeval").warning("the server said %s", "\x1b]0;title\x07")

    assert capsys.readouterr().err.endswith("the server said \\x1b]0;title\\x07\n")


def test_debugging_does_not_turn_on_the_chatter_of_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.configure("DEBUG")

    logging.getLogger("some.library").debug("chatter")

    assert capsys.readouterr().err == ""


def test_configuring_again_does_not_double_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.configure("INFO")
    terminal.configure("INFO")

    logging.getLogger("mmeval").info("once")

    assert capsys.readouterr().err.count("once") == 1
