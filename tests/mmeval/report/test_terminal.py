import os
import subprocess
import sys
from pathlib import Path

import pytest

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
