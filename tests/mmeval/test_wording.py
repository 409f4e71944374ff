from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.wording import either, some, split_names


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


def test_of_many_names_the_first_are_listed_and_the_others_counted() -> None:
    assert [some(["a", "b", "c"], most) for most in (1, 2, 3)] == ["a and 2 more", "a, b and 1 more", "a, b, c"]
