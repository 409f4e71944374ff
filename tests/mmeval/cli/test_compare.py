import pytest

from tests.support.cli import mmeval


@pytest.mark.parametrize("flag", ["--detect", "--alpha", "--fail_if_worse"])
def test_a_word_where_a_number_is_due_is_refused_by_the_name_of_its_flag(
    flag: str,
) -> None:
    ended = mmeval("compare", "a", "b", flag, "abc")
    assert (ended.code, ended.error.partition(" (")[0]) == (
        2,
        f"{flag}: a number is expected, not 'abc'",
    )


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("a", "b", "--margin", "0.1"), "--margin"),
        (("a", "b", "--clusters", "3"), "--clusters"),
        (("--plan", "--clusters", "40", "--fail_unless_within", "0.1"), "--fail"),
    ],
)
def test_a_flag_of_a_plan_is_none_of_a_comparison(
    words: tuple[str, ...], flag: str
) -> None:
    ended = mmeval("compare", *words)
    assert ended.code == 2
    assert ended.error.startswith(flag)
