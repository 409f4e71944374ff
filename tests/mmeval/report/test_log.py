import logging
import re

import pytest

from mmeval.report.log import begin_log


def test_a_line_has_time_level_place_and_message_once(capsys: pytest.CaptureFixture[str]) -> None:
    begin_log("INFO", {})
    begin_log("INFO", {})
    logging.getLogger("mmeval.somewhere").info("kept %d", 3)
    shown = capsys.readouterr()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     \[test_log:\d+\] kept 3\n", shown.err)
    assert shown.out == ""


def test_lines_of_the_level_are_shown_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for level, name, written, shown in (
        *(("WARNING", "mmeval.somewhere", "INFO", False), ("WARNING", "mmeval.somewhere", "WARNING", True)),
        *(("DEBUG", "mmeval", "DEBUG", True), ("DEBUG", "some.library", "DEBUG", False)),
    ):
        begin_log(level, {})
        logging.getLogger(name).log(logging.getLevelName(written), "%s", "\x1b]0;title\x07")
        lines = capsys.readouterr().err.splitlines()
        assert [line.endswith("\\x1b]0;title\\x07") for line in lines] == [True] * shown
