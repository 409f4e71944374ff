from __future__ import annotations

import pytest

from mmeval.backend.contract import BatchBackend, Startable
from mmeval.backend.create import create_backend
from mmeval.errors import UnknownNameError, UsageError
from tests.support.tiny_models import tiny_model


def test_the_local_backend_is_found_by_its_name_and_loads_nothing_when_it_is_made() -> None:
    made = create_backend("hf", {"pretrained": str(tiny_model("llm"))})
    assert isinstance(made, BatchBackend)
    assert isinstance(made, Startable)
    assert made.identity["model"] == "llm"


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("dtyp", "bfloat16", 'did you mean "dtype"'),
        ("dtype", "bf61", "unknown dtype 'bf61'"),
        ("adapter", "chatt", 'did you mean "chat"'),
        ("trust_remote_code", "perhaps", "trust_remote_code"),
        ("data_parallel_size", 0, "must be a whole number of at least 1"),
        ("max_length", -1, "must be a whole number of at least 0"),
    ],
)
def test_an_argument_that_means_nothing_is_refused_by_name(argument: str, value: object, message: str) -> None:
    with pytest.raises((UnknownNameError, UsageError), match=message):
        create_backend("hf", {"pretrained": str(tiny_model("llm")), argument: value})
