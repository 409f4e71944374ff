from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import UnknownNameError, UsageError
from tests.support.toy import registered


@pytest.fixture
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.usefixtures("_toys")
def test_a_backend_is_made_from_its_name_and_arguments() -> None:
    assert create_backend("toy", {"model": "toy-9"}).identity == {"backend": "toy", "model": "toy-9"}


@pytest.mark.usefixtures("_toys")
def test_an_argument_that_it_does_not_take_is_refused_with_a_near_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"argument of the backend 'toy' 'modle'; did you mean \"model\".*It takes: "
    ):
        create_backend("toy", {"modle": "x"})


def test_an_argument_that_is_missing_is_named_with_the_flag() -> None:
    with pytest.raises(
        UsageError, match=r"missing a required .*argument: 'model'; give it with --model_args NAME=VALUE"
    ):
        create_backend("openai", {})


def test_an_unknown_backend_is_refused_with_a_near_name() -> None:
    with pytest.raises(UnknownNameError, match="unknown model backend 'openia'; did you mean \"openai\""):
        create_backend("openia", {})


@pytest.mark.usefixtures("_toys")
def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    assert create_backend("toy", {"model": 1234567}).identity["model"] == "1234567"


@pytest.mark.usefixtures("_toys")
def test_a_text_whose_spelling_a_number_has_lost_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(UsageError, match=r"model is a text and was read as the number 1.234e\+59; write it in quotes"):
        create_backend("toy", {"model": 1234e56})


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        ("toy_local", {"memory": "much"}, "the backend 'toy_local': memory must be a whole number, not 'much'"),
        ("toy_local", {"memory": True}, "memory must be a whole number, not True"),
        ("openai", {"model": "m", "timeout": "soon"}, "the backend 'openai': timeout must be a number, not 'soon'"),
        ("openai", {"model": "m", "send_seed": "yes"}, "send_seed must be true or false, not 'yes'"),
    ],
)
@pytest.mark.usefixtures("_toys")
def test_an_argument_of_another_type_than_the_backend_declares_is_refused(
    name: str, args: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        create_backend(name, args)


def test_a_backend_without_arguments_says_so() -> None:
    with pytest.raises(UnknownNameError, match=r"'empty' 'model'\. It takes no arguments\.$"):
        create_backend("empty", {"model": "x"})


@pytest.mark.parametrize("name", ["hf-auto", "hf-multimodal", "huggingface"])
def test_a_name_that_other_harnesses_have_for_a_local_model_leads_to_hf(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"unknown model backend '{name}'\. .*--model hf "):
        create_backend(name, {})


def test_the_size_of_batches_among_the_arguments_leads_to_its_flag() -> None:
    with pytest.raises(UnknownNameError, match=r"'batch_size'\. It is a flag of its own: --batch_size N"):
        create_backend("hf", {"batch_size": 8})


@pytest.mark.parametrize("name", ["local-chat-completions", "openai-chat-completions", "vllm"])
def test_a_name_that_other_harnesses_have_for_a_server_leads_to_the_backend_for_it(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"unknown model backend '{name}'\. .*--model openai"):
        create_backend(name, {})
