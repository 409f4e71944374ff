from __future__ import annotations

import pytest

from mmeval.backend import create_backend
from mmeval.errors import EXIT_USAGE, UsageError


@pytest.mark.parametrize("arguments", [{}, {"pretrained": "org/model", "dtype": "bfloat16", "anything": 1}])
def test_the_local_backend_says_plainly_that_it_is_not_there_and_what_to_use(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"not in this version.*--model openai") as caught:
        create_backend("hf", arguments)
    assert caught.value.exit_code == EXIT_USAGE
    assert str(arguments.get("pretrained", "")) in str(caught.value)
