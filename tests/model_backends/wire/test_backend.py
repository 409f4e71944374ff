from typing import Any

import pytest

from mmeval.model_backends.gemini import GeminiBackend
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.wire.backend import WireBackend
from mmeval.model_backends.wire.failures import CallError
from tests.support.openai_calls import request

LOCAL: dict[str, Any] = {"model": "m", "base_url": "http://localhost"}
BACKENDS = [OpenAIBackend(**LOCAL), GeminiBackend(**LOCAL)]


@pytest.mark.parametrize("backend", BACKENDS, ids=["openai", "gemini"])
@pytest.mark.parametrize(
    ("option", "near"), [("image.sise", "image.size"), ("text.tone", "audio.voice")]
)
def test_an_unknown_option_is_named_with_those_that_are_known(
    backend: WireBackend, option: str, near: str
) -> None:
    with pytest.raises(CallError, match=f"{option}.*{near}") as caught:
        backend._encode(request("a", options={option: 1}))
    assert caught.value.kind == "bad_request"


@pytest.mark.parametrize("backend", BACKENDS, ids=["openai", "gemini"])
def test_a_kind_that_the_model_does_not_give_is_not_asked_for(
    backend: WireBackend,
) -> None:
    with pytest.raises(CallError, match="outputs") as caught:
        backend._encode(request("a", wants=("image",)))
    assert caught.value.kind == "unsupported"
