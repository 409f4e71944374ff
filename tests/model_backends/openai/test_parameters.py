from __future__ import annotations

from typing import Any

import pytest

from mmeval.model_backends.openai.failures import CallError
from mmeval.model_backends.openai.parameters import audio_format, check_options, unsent, voice
from mmeval.records.request import GenerationParams


def params(**options: Any) -> GenerationParams:
    return GenerationParams.from_mapping(options)


@pytest.mark.parametrize(
    ("name", "said"),
    [("image.sise", 'did you mean "image.size"'), ("video.codec", "image.size, image.quality")],
)
def test_an_unknown_option_is_named_with_the_known_ones(name: str, said: str) -> None:
    with pytest.raises(CallError, match=f"{name}.*{said}") as caught:
        check_options(params(**{name: 1}))
    assert caught.value.kind == "bad_request"


def test_the_known_options_pass() -> None:
    check_options(params(**{"image.size": "1x1", "image.quality": "low", "audio.voice": "a", "audio.format": "mp3"}))


def test_voice_and_format_have_defaults() -> None:
    assert (voice(params()), audio_format(params())) == ("alloy", "wav")
    chosen = params(**{"audio.voice": "verse", "audio.format": "mp3"})
    assert (voice(chosen), audio_format(chosen)) == ("verse", "mp3")


def test_a_format_that_says_nothing_about_itself_is_refused() -> None:
    with pytest.raises(CallError, match="pcm16"):
        audio_format(params(**{"audio.format": "pcm16"}))


def test_what_an_endpoint_has_no_field_for_is_said() -> None:
    asked = params(temperature=0.0, until="x", **{"image.size": "1x1"})
    assert unsent(asked, "images", sampled=False) == ("images has no field for temperature, stop; not sent",)
    assert unsent(asked, "chat", sampled=True, options=("image.size",)) == (
        "chat has no field for image.size; not sent",
    )
    assert unsent(asked, "chat", sampled=True) == ()
