from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from mmeval.report import log
from tests.support.log_level import restored_log


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with restored_log():
        yield


def test_a_line_has_time_level_place_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("INFO")
    logging.getLogger("mmeval.somewhere").info("kept %d", 3)
    line = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     \[test_log:\d+\] kept 3\n", line)


def test_lines_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("WARNING")
    logging.getLogger("mmeval.somewhere").info("not this")
    logging.getLogger("mmeval.somewhere").warning("this")
    captured = capsys.readouterr()
    assert "not this" not in captured.err
    assert captured.err.endswith("this\n")
    assert captured.out == ""


def test_what_a_server_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("INFO")
    logging.getLogger("mmeval").warning("the server said %s", "\x1b]0;title\x07")
    assert capsys.readouterr().err.endswith("the server said \\x1b]0;title\\x07\n")


def test_debugging_does_not_turn_on_the_chatter_of_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("DEBUG")
    logging.getLogger("some.library").debug("chatter")
    assert capsys.readouterr().err == ""


def test_configuring_again_does_not_double_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("INFO")
    log.configure("INFO")
    logging.getLogger("mmeval").info("once")
    assert capsys.readouterr().err.count("once") == 1
