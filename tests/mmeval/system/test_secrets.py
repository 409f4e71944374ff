from typing import Any

import pytest

from mmeval.system.secrets import (
    hidden_names,
    secret_values,
    text_without_secrets,
    without_secrets,
)

KEY = "sk-0123456789"


@pytest.mark.parametrize(
    "settings",
    [
        {"args": {"inner": [{"api_key": KEY}]}},
        {"env": {"HF_TOKEN": KEY}},
        {"apikey": KEY},
        {"api_keys": [KEY]},
        {"api_key": {"value": [KEY]}},
        {"command": f"serve --api-key {KEY}"},
        {"command": ["serve", "--api-key", KEY]},
        {"command": ["serve", f"--api-key={KEY}"]},
        {"command": ["env", f"MY_TOKEN={KEY}", "serve"]},
        {"command": ["sh", "-c", f"serve -token {KEY} | tee log"]},
        {"command": ["curl", "-H", f"Authorization: Bearer {KEY}"]},
        {"command": ["curl", "-H", f"X-API-Key:{KEY}"]},
        {"command": f"sh -c \"curl -H 'Authorization: Token {KEY}'\""},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {"headers": {"authorization": f"basic {KEY}"}},
    ],
    ids=str,
)
def test_the_value_of_a_secret_is_found_by_the_name_beside_it(
    settings: dict[str, Any],
) -> None:
    assert secret_values(settings) == {KEY}


@pytest.mark.parametrize(
    "command",
    [
        "serve.py --use-token --model-path /m/x",
        "serve.py --add-bos-token weights-v2",
        "serve.py --use-token org/weights-v2",
    ],
)
def test_the_word_after_a_switch_is_not_hidden_wherever_it_stands(command: str) -> None:
    assert secret_values({"command": command}) == frozenset()


@pytest.mark.parametrize(
    "key", ["eyJhbGci.eyJzdWIi.Sf1KxwRJSMeKKF2Q", "wJalr/K7MDENGbPxR"]
)
def test_a_key_with_the_signs_of_a_path_is_a_secret(key: str) -> None:
    assert secret_values({"command": ["serve", "--token", key]}) == {key}


@pytest.mark.parametrize("name", ["bos_token", "eos-token", "MASK_TOKEN"])
def test_a_token_of_a_vocabulary_is_no_secret(name: str) -> None:
    assert without_secrets({name: "<|image-0|>"}) == {name: "<|image-0|>"}


@pytest.mark.parametrize(
    "value", ["sk-1", "reference", "<|endoftext|>", "two words here", 12, True, None]
)
def test_what_may_be_a_word_of_an_answer_is_not_hidden_wherever_it_stands(
    value: object,
) -> None:
    assert secret_values({"answer_key": value}) == frozenset()


@pytest.mark.parametrize("value", ["placeholder", "not-needed", "Observation"])
def test_a_plain_word_is_not_hidden_wherever_it_stands(value: str) -> None:
    assert secret_values({"api_key": value}) == frozenset()


def test_a_plain_word_is_hidden_beside_the_name_of_a_secret() -> None:
    assert without_secrets({"api_key": "placeholder"}) == {"api_key": "***"}


def test_a_long_word_is_a_secret() -> None:
    assert secret_values({"token": "abcdefghijklmnop"}) == {"abcdefghijklmnop"}


def test_a_secret_is_hidden_wherever_it_stands_in_the_settings() -> None:
    settings = {"env": {"TOKEN": KEY}, "command": ["curl", f"http://a?t={KEY}"], "n": 2}
    assert without_secrets(settings) == {
        "env": {"TOKEN": "***"},
        "command": ["curl", "http://a?t=***"],
        "n": 2,
    }


def test_all_texts_below_a_secret_name_are_hidden() -> None:
    settings = {"api_keys": ["a", {"value": "b"}], "token": {"file": ["c"]}}
    assert without_secrets(settings) == {
        "api_keys": ["***", {"value": "***"}],
        "token": {"file": ["***"]},
    }


def test_a_list_whose_keys_were_hidden_is_known_as_such() -> None:
    recorded = {"api_keys": ["***"], "args": [{"key": "***"}], "names": ["a"]}
    assert [*hidden_names(recorded)] == ["api_keys", "args"]


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("serve --api-key hunter", "serve --api-key ***"),
        (["serve", "--password=hunter"], ["serve", "--password=***"]),
        ("serve --n 'open", "serve --n 'open"),
        (5, 5),
    ],
)
def test_a_short_key_is_hidden_in_its_own_command(
    command: object, hidden: object
) -> None:
    assert without_secrets({"command": command}) == {"command": hidden}


def test_a_command_whose_key_was_hidden_is_known_as_such() -> None:
    recorded = {"command": "serve --api-key ***", "args": {"key": "***"}, "n": "a"}
    assert [*hidden_names(recorded)] == ["command", "args.key"]


def test_a_command_line_is_without_secrets_that_the_settings_name() -> None:
    words = f'mmeval --model_args \'{{"command": "serve --api-key {KEY}"}}\''
    assert KEY not in text_without_secrets(words, {KEY})


@pytest.mark.parametrize(
    "text", ["Authorization: Bearer {}", '{{"authorization": "token {}"}}']
)
def test_a_key_is_hidden_behind_the_scheme_of_a_header(text: str) -> None:
    assert text_without_secrets(text.format(KEY)) == text.format("***")
