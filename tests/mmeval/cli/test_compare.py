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
