import io
import logging
import re
from collections.abc import Iterator

import pytest

from mmeval.dataset.readable import readable
from mmeval.report.log import begin_log


def test_a_line_has_time_level_and_message_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_log("INFO", {})
    begin_log("INFO", {})
    logging.getLogger("mmeval.somewhere").info("kept %d", 3)
    shown = capsys.readouterr()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d INFO     kept 3\n", shown.err)
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


def test_a_warning_is_shown_once_however_often_it_is_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_log("INFO", {})
    logger = logging.getLogger("mmeval.somewhere")
    for name in ("a", "b", "a"):
        logger.warning("%s is lost", name)
        logger.info("still at work")
    lines = [line[20:] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "WARNING  a is lost",
        "INFO     still at work",
        "WARNING  b is lost",
        "INFO     still at work",
        "INFO     still at work",
    ]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, level: str, text: str) -> list[str]:
    """The lines of a message and of a warning with this text."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    begin_log(level, {})
    logging.getLogger("mmeval.somewhere").info(text)
    logging.getLogger("mmeval.somewhere").warning(text)
    return terminal.getvalue().splitlines()


def test_a_line_on_a_terminal_is_the_message_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert on_a_terminal(monkeypatch, "INFO", "lost") == ["lost", "warning: lost"]


def test_only_a_line_for_debugging_names_the_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = on_a_terminal(monkeypatch, "DEBUG", "lost")
    assert all("[test_log:" in line for line in lines)


def test_a_long_line_on_a_terminal_is_wrapped_at_words_with_an_indent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = f"{'several words ' * 8}at /a/path/{'x' * 90} end"
    lines = on_a_terminal(monkeypatch, "INFO", f"{long}\n  mmeval run {'x ' * 50}")
    assert lines[:5] == [
        "several words several words several words several words several words several",
        "  words several words several words at",
        f"  /a/path/{'x' * 90}",
        "  end",
        f"  mmeval run {'x ' * 50}",
    ]


def test_the_traceback_of_a_loader_is_shown_once_and_only_for_debugging(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def loader() -> Iterator[int]:
        yield 1
        raise ValueError("row 2")

    for level, count in (("INFO", 0), ("DEBUG", 1)):
        begin_log(level, {})
        for _ in range(2):
            assert len(list(readable(loader()))) == 2
        assert capsys.readouterr().err.count("ValueError: row 2") == count
