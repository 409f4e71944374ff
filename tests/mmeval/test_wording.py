from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.wording import either, escaped, file_name, some, split_names


def test_names_are_split_at_commas_and_blanks_unless_they_are_a_path(tmp_path: Path) -> None:
    spaced = tmp_path / "my tasks"
    spaced.mkdir()
    assert split_names(["a, b", "c,d", str(spaced), "a", ""]) == ("a", "b", "c", "d", str(spaced))


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b"], ids=["too long for a path", "null character"])
def test_what_cannot_be_a_path_is_a_name(text: str) -> None:
    assert split_names([text]) == (text,)


@pytest.mark.parametrize(("names", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_names_are_listed_as_one_says_them(names: list[str], text: str) -> None:
    assert either(names) == text


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


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("org/model", "org__model"),
        ("gpt-4o=x+y.z", "gpt-4o=x+y.z"),
        ("../../etc/passwd", "etc__passwd"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("a" * 300, "a" * 120),
    ],
    ids=["slash", "plain", "climbing", "dots", "empty", "long"],
)
def test_a_name_becomes_one_safe_file_name(name: str, safe: str) -> None:
    assert file_name(name) == safe
    assert Path(file_name(name)).name == file_name(name)


def test_of_many_names_the_first_are_listed_and_the_others_counted() -> None:
    assert [some(["a", "b", "c"], most) for most in (1, 2, 3)] == ["a and 2 more", "a, b and 1 more", "a, b, c"]
