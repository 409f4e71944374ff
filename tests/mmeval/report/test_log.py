import logging
import re

import pytest

from mmeval.report import log


def test_a_line_has_time_level_place_and_message_once(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("INFO")
    log.configure("INFO")
    logging.getLogger("mmeval.somewhere").info("kept %d", 3)
    shown = capsys.readouterr()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     \[test_log:\d+\] kept 3\n", shown.err)
    assert shown.out == ""


@pytest.mark.parametrize(
    ("configured", "name", "level", "end"),
    [
        ("WARNING", "mmeval.somewhere", "INFO", ""),
        ("WARNING", "mmeval.somewhere", "WARNING", "\\x1b]0;title\\x07\n"),
        ("DEBUG", "mmeval", "DEBUG", "\\x1b]0;title\\x07\n"),
        ("DEBUG", "some.library", "DEBUG", ""),
    ],
    ids=["below the level", "escaped", "debugging", "of a library"],
)
def test_lines_of_the_level_are_shown_and_cannot_steer_the_terminal(
    configured: str, name: str, level: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log.configure(configured)
    logging.getLogger(name).log(logging.getLevelName(level), "%s", "\x1b]0;title\x07")
    shown = capsys.readouterr().err
    assert (shown.endswith(end), bool(shown)) == (True, bool(end))
