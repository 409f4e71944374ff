from typing import Any

import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.run.backends import Backends
from mmeval.run.options import BackendSpec
from tests.support.toy import Toy

pytestmark = pytest.mark.usefixtures("toys")


def test_an_unknown_name_is_refused_with_what_to_write() -> None:
    cases: tuple[tuple[str, dict[str, Any], str, str], ...] = (
        ("toy", {"modle": "x"}, "modle", "It takes: model, log, "),
        ("empty", {"model": "x"}, "model", "It takes no arguments."),
        ("openia", {}, "openia", '"openai"'),
        ("openai", {"pretrained": "m"}, "pretrained", "Write model=m"),
        ("hf", {"model": "m"}, "model", "Write pretrained=m"),
        ("local_completions", {}, "local_completions", " --model openai "),
    )
    for backend, args, name, words in cases:
        with pytest.raises(UnknownNameError) as caught:
            create_backend(backend, args)
        assert (caught.value.name, words in str(caught.value)) == (name, True)


def test_an_argument_of_another_type_is_refused() -> None:
    for given, model in (("toy-9", "toy-9"), (1234567, "1234567")):
        assert create_backend("toy", {"model": given}).identity == {
            "backend": "toy",
            "model": model,
        }
    cases: tuple[tuple[str, str, Any, str], ...] = (
        ("toy", "model", 1234e56, "1.234e+59"),
        ("toy_local", "memory", True, "not True"),
        ("toy_local", "memory", "much", "not 'much'"),
    )
    for backend, name, value, fault in cases:
        with pytest.raises(UsageError) as caught:
            create_backend(backend, {name: value})
        assert (caught.value.name, fault in str(caught.value)) == (name, True)


def test_a_class_that_is_no_backend_is_named_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mmeval.plugins.load", lambda *_: object)
    with pytest.raises(PluginError, match=r"'openai' lacks the member 'capabilities'"):
        create_backend("openai", {})


def test_a_wrapper_that_passes_on_what_it_does_not_have_is_a_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Wrapper:
        def __getattr__(self, name: str) -> object:
            return name

    monkeypatch.setattr("mmeval.plugins.load", lambda *_: Wrapper)
    assert isinstance(create_backend("openai", {}), Wrapper)


def test_a_backend_that_cannot_be_awaited_when_it_is_closed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Sync(Toy):
        def close(self) -> None:  # type: ignore[override]  # what an author may have written
            """Forgot that it is a coroutine."""

    odd: Any = Sync()
    monkeypatch.setattr("mmeval.plugins.load", lambda *_: Sync)
    for made in (
        lambda: create_backend("openai", {}),
        lambda: Backends({"model": BackendSpec("", instance=odd)}),
    ):
        with pytest.raises(PluginError, match="async def close"):
            made()
