import pytest

from mmeval.trust.annotate.access import Tokens, is_own_host

TOKENS = Tokens(b"secret")


@pytest.mark.parametrize("rater", ["ann", "Björk ✓", "", "a.b/c"])
def test_a_token_names_its_rater(rater: str) -> None:
    assert TOKENS.rater(TOKENS.of(rater)) == rater


@pytest.mark.parametrize("token", ["", ".", "YW5u", "YW5u.", "é.é", "a" * 999])
def test_a_wrong_token_names_nobody(token: str) -> None:
    assert TOKENS.rater(token) is None


def test_a_token_of_another_session_names_nobody() -> None:
    assert TOKENS.rater(Tokens(b"other").of("ann")) is None


def test_a_hidden_name_is_the_same_each_time() -> None:
    assert TOKENS.hidden("5f1c") == TOKENS.hidden("5f1c") != TOKENS.hidden("5f1d")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "10.0.0.7:80"]
)
def test_numbers_and_own_names_are_hosts(host: str) -> None:
    assert is_own_host(host, {"localhost"})


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8765", "localhost.evil.example"]
)
def test_other_names_are_no_hosts(host: str) -> None:
    assert not is_own_host(host, {"localhost"})
