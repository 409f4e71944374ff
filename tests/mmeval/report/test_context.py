import pytest

from mmeval.report.context import ReportContext, as_arguments, without_secrets


@pytest.mark.parametrize(
    "name", ["api_key", "key", "auth_token", "PASSWORD", "client_secret", "Authorization", "api_keys"]
)
def test_secrets_are_hidden_at_any_depth(name: str) -> None:
    assert without_secrets({"a": [{name: "sk-1"}]}) == {"a": [{name: "***"}]}


@pytest.mark.parametrize("name", ["max_tokens", "monkey", "tokenizer", "cluster_key_name"])
def test_names_that_only_look_like_secrets_are_shown(name: str) -> None:
    assert without_secrets({name: "x"}) == {name: "x"}


def test_arguments_read_as_they_are_written_on_a_command_line() -> None:
    assert as_arguments({"model": "m", "n": 2}) == "model=m,n=2"


def test_no_arguments_read_as_none() -> None:
    assert as_arguments({}) == "None"


def test_a_batch_size_that_the_backend_decides_is_auto() -> None:
    assert (ReportContext("m").shown_batch_size, ReportContext("m", batch_size=4).shown_batch_size) == ("auto", "4")
