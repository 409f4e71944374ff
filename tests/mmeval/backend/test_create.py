from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import UnknownNameError, UsageError
from tests.support.toy import registered


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.parametrize(
    ("backend", "args", "name", "words"),
    [
        ("toy", {"modle": "x"}, "modle", ["'toy'", '"model"', "It takes: model, log, "]),
        ("empty", {"model": "x"}, "model", ["It takes no arguments."]),
        ("hf", {"batch_size": 8}, "batch_size", [": --batch_size N"]),
        ("openia", {}, "openia", ['"openai"']),
        ("huggingface", {}, "huggingface", [": --model hf "]),
        ("vllm", {}, "vllm", [": --model openai "]),
    ],
)
def test_an_unknown_name_is_refused(backend: str, args: dict[str, Any], name: str, words: list[str]) -> None:
    with pytest.raises(UnknownNameError) as caught:
        create_backend(backend, args)
    assert caught.value.name == name
    assert [word in str(caught.value) for word in words] == [True] * len(words)


def test_an_argument_that_is_missing_or_of_another_type_is_refused() -> None:
    for given, model in (("toy-9", "toy-9"), (1234567, "1234567")):
        assert create_backend("toy", {"model": given}).identity == {"backend": "toy", "model": model}
    cases: list[tuple[str, dict[str, Any], str, str]] = [
        ("openai", {}, "openai", "'model'"),
        ("toy", {"model": 1234e56}, "model", "1.234e+59"),
        ("toy_local", {"memory": True}, "memory", "not True"),
        ("openai", {"model": "m", "send_seed": "yes"}, "send_seed", "not 'yes'"),
    ]
    for backend, args, name, fault in cases:
        with pytest.raises(UsageError) as caught:
            create_backend(backend, args)
        assert (caught.value.name, fault in str(caught.value)) == (name, True)
