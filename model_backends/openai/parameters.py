"""Generation parameters and modality options in the interface's spelling."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.wire.failures import CallError
from mmeval.records import GenerationParams

AUDIO_FORMATS = ("wav", "mp3", "flac", "opus", "aac", "pcm", "pcm16")
"""The formats of sound; the last two are one, samples without a header, which become a
WAV."""
_SAMPLES = ("pcm", "pcm16")

DEFAULT_VOICE = "alloy"
DEFAULT_AUDIO_FORMAT = "wav"

_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "stop")


def sampling(params: GenerationParams, settings: Settings) -> dict[str, Any]:
    """The fields of a chat request for generation; None leaves the server's default.

    The seed is added separately, since it differs for each request.
    """
    fields: dict[str, Any] = {}
    if params.temperature is not None:
        fields["temperature"] = params.temperature
    if params.top_p is not None:
        fields["top_p"] = params.top_p
    if params.top_k is not None:
        # known to vLLM and similar servers, refused by others
        fields["top_k"] = params.top_k
    if params.max_tokens is not None:
        fields[settings.max_tokens_field] = params.max_tokens
    if params.stop:
        fields["stop"] = params.stop
    return fields


def voice(params: GenerationParams) -> str:
    return str(params.options.get("audio.voice", DEFAULT_VOICE))


def audio_format(params: GenerationParams) -> str:
    """The requested format, as chats name it. Raises CallError for an unknown one."""
    form = str(params.options.get("audio.format", DEFAULT_AUDIO_FORMAT))
    if form not in AUDIO_FORMATS:
        raise CallError(
            "bad_request",
            f"audio.format={form!r} is none of {', '.join(AUDIO_FORMATS)}",
        )
    return "pcm16" if form in _SAMPLES else form


def speech_format(params: GenerationParams) -> str:
    """The requested format, as speech names it. Raises CallError for an unknown one."""
    form = audio_format(params)
    return "pcm" if form in _SAMPLES else form


def unsent(
    params: GenerationParams,
    endpoint: str,
    *,
    sampled: bool,
    options: Collection[str] = (),
) -> tuple[str, ...]:
    """Warnings for parameters that have no field in this endpoint.

    ``sampled`` says whether it takes the sampling parameters; ``options`` are modality
    options of this request without a field.
    """
    names = [name for name in params.options if name in options]
    if not sampled:
        given = [name for name in _SAMPLING if getattr(params, name) not in (None, ())]
        names = given + names
    if not names:
        return ()
    return (f"{endpoint} has no field for {', '.join(names)}; not sent",)
