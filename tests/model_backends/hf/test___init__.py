import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import MissingExtraError, UnknownNameError, UsageError
from mmeval.model_backends.hf import HFBackend
from tests.support.models import tiny_model


@pytest.mark.parametrize(
    ("argument", "value", "error", "word"),
    [
        ("dtyp", "bfloat16", UnknownNameError, '"dtype"'),
        ("adapter", "chatt", UnknownNameError, '"chat"'),
        ("max_length", -1, UsageError, "0 or more"),
        ("convert", "video->frame", UnknownNameError, "did you mean"),
        ("convert", "video->frames", UsageError, "does not take either"),
        ("inputs", "text+pictures", UnknownNameError, "inputs"),
        ("device", "cuda:x", UnknownNameError, "cuda:x"),
        ("device", "meta", UnknownNameError, "cpu, cuda"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(
    argument: str, value: object, error: type[UsageError], word: str
) -> None:
    with pytest.raises(error, match=word):
        create_backend("hf", {"pretrained": str(tiny_model("llm")), argument: value})


@pytest.mark.parametrize("pretrained", ["", "tiny"])
def test_without_its_packages_the_extra_is_named_before_a_model_is_fetched(
    pretrained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        HFBackend(pretrained=pretrained)
    assert "[hf]" in caught.value.command
