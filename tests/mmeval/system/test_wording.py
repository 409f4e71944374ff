from pathlib import Path

from mmeval.system.wording import (
    escaped,
    file_name,
    listed,
    printable,
    shortened,
    size,
    split_names,
)


def test_names_are_split_at_commas_and_blanks_unless_they_are_a_path_and_listed_with_a_count(
    tmp_path: Path,
) -> None:
    spaced = tmp_path / "my tasks"
    spaced.mkdir()
    assert split_names(["a, b", "c,d", str(spaced), "a", ""]) == (
        "a",
        "b",
        "c",
        "d",
        str(spaced),
    )
    assert [split_names([text]) for text in ("x" * 5000, "a\0b")] == [
        ("x" * 5000,),
        ("a\0b",),
    ], "no paths"
    assert [listed(["a", "b", "c"], most) for most in (1, 2, 3)] == [
        "a and 2 more",
        "a, b and 1 more",
        "a, b, c",
    ]


def test_texts_are_cut_and_sizes_have_the_unit_that_reads_best() -> None:
    assert [shortened("abc", limit) for limit in (3, 2)] == ["abc", "ab..."]
    assert [printable("a\nbc", limit=limit) for limit in (4, 3)] == ["a bc", "a …"]
    counts = (0, 1023, 1024, 99.96 * 1024, 100 * 1024, 1024**2, 1024**4)
    expected = "0 B, 1023 B, 1.0 KiB, 100.0 KiB, 100 KiB, 1.0 MiB, 1.0 TiB"
    assert ", ".join(size(count) for count in counts) == expected


def test_text_that_could_steer_a_terminal_is_spelt_out() -> None:
    steering = ("\x1b[2Jgone", "a\rb\x07", "\u202etxt.exe", "\udc80", "\x9b31m")
    expected = ("\\x1b[2Jgone", "a\\rb\\x07", "\\u202etxt.exe", "\\udc80", "\\x9b31m")
    assert tuple(escaped(text) for text in steering) == expected
    for plain in ("two\nlines\tand a tab", "\u65e5\u672c\u3000\u00e9 \u2191"):
        assert escaped(plain) == plain


def test_a_name_becomes_one_safe_file_name() -> None:
    names = ("org/model", "gpt-4o=x+y.z", "../../etc/passwd", "..", "", "a" * 300)
    safe = [
        "org__model",
        "gpt-4o=x+y.z",
        "etc__passwd",
        "unnamed",
        "unnamed",
        "a" * 120,
    ]
    assert [file_name(name) for name in names] == safe
