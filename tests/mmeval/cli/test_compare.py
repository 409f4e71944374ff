import pytest

from tests.support.cli import mmeval


def test_a_word_where_a_number_is_due_is_refused_by_the_name_of_its_flag() -> None:
    ended = mmeval("compare", "a", "b", "--detect", "abc")
    assert ended.code == 2
    assert ended.error.startswith("--detect: must be a number, not 'abc'")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("a", "b", "--margin", "0.1"), "--margin"),
        (("a", "b", "--share", "0.9"), "--share"),
        (("--plan", "--clusters", "40", "--fail_unless_within", "0.1"), "--fail"),
    ],
)
def test_a_flag_of_a_plan_is_none_of_a_comparison(
    words: tuple[str, ...], flag: str
) -> None:
    ended = mmeval("compare", *words)
    assert ended.code == 2
    assert ended.error.startswith(flag)
