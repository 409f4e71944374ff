from typing import Any

import pytest

from mmeval.model_backends.openai.parameters import (
    AUDIO_FORMATS,
    audio_format,
    speech_format,
    unsent,
    voice,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.records.request import GenerationParams


def params(**options: Any) -> GenerationParams:
    return GenerationParams.from_mapping(options)


def test_options_have_defaults() -> None:
    assert voice(params()) == "alloy"
    assert audio_format(params()) == "wav"
    chosen = params(
        **{
            "image.size": "1x1",
            "image.quality": "low",
            "audio.voice": "verse",
            "audio.format": "mp3",
        }
    )
    assert voice(chosen) == "verse"
    assert audio_format(chosen) == "mp3"
    assert AUDIO_FORMATS == ("wav", "mp3", "flac", "opus", "aac", "pcm", "pcm16")
    with pytest.raises(CallError, match="pcm24"):
        audio_format(params(**{"audio.format": "pcm24"}))


def test_samples_without_a_header_have_the_name_of_their_endpoint() -> None:
    asked = params(**{"audio.format": "pcm"})
    assert audio_format(asked) == "pcm16"
    assert speech_format(asked) == "pcm"


def test_parameters_that_an_endpoint_has_no_field_for_are_named() -> None:
    asked = params(temperature=0.0, until="x", **{"image.size": "1x1"})
    assert "for temperature, stop;" in unsent(asked, "images", sampled=False)[0]
    assert (
        "for image.size;"
        in unsent(asked, "chat", sampled=True, options=("image.size",))[0]
    )
    assert unsent(asked, "chat", sampled=True) == ()
