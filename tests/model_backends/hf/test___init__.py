import pytest

from mmeval.backend.create import create_backend
from mmeval.errors import UnknownNameError, UsageError
from tests.support.tiny_models import tiny_model


@pytest.mark.parametrize(
    ("argument", "value", "error", "word"),
    [
        ("dtyp", "bfloat16", UnknownNameError, '"dtype"'),
        ("adapter", "chatt", UnknownNameError, '"chat"'),
        ("max_length", -1, UsageError, "at least 0"),
        ("convert", "video->frame", UnknownNameError, "did you mean"),
        ("convert", "video->frames", UsageError, "does not take either"),
        ("inputs", "text+pictures", UnknownNameError, "inputs"),
        ("device", "cuda:x", UnknownNameError, "cuda:x"),
        ("device", "meta", UnknownNameError, "cpu, cuda"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(argument: str, value: object, error: type[UsageError], word: str) -> None:
    with pytest.raises(error, match=word):
        create_backend("hf", {"pretrained": str(tiny_model("llm")), argument: value})
