import io
import logging
import re

import pytest

from mmeval.report.log import begin_log


def test_a_line_has_time_level_place_and_message_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_log("INFO", {})
    begin_log("INFO", {})
    logging.getLogger("mmeval.somewhere").info("kept %d", 3)
    shown = capsys.readouterr()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     \[test_log:\d+\] kept 3\n", shown.err
    )
    assert shown.out == ""


def test_lines_of_the_level_are_shown_and_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for level, name, written, shown in (
        ("WARNING", "mmeval.somewhere", "INFO", False),
        ("WARNING", "mmeval.somewhere", "WARNING", True),
        ("DEBUG", "mmeval", "DEBUG", True),
        ("DEBUG", "some.library", "DEBUG", False),
    ):
        begin_log(level, {})
        logging.getLogger(name).log(
            logging.getLevelName(written), "%s", "\x1b]0;title\x07"
        )
        lines = capsys.readouterr().err.splitlines()
        assert [line.endswith("\\x1b]0;title\\x07") for line in lines] == [True] * shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_on_a_terminal_is_the_message_alone_but_for_debugging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for level, lines in (("INFO", ["kept", "warning: lost"]), ("DEBUG", 2)):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        begin_log(level, {})
        logging.getLogger("mmeval.somewhere").info("kept")
        logging.getLogger("mmeval.somewhere").warning("lost")
        shown = terminal.getvalue().splitlines()
        assert (
            shown == lines
            if isinstance(lines, list)
            else all("[test_log:" in line for line in shown)
        )
