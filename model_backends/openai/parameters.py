"""Converts generation parameters and modality options to fields of the interface."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

from mmeval.model_backends.openai.settings import (
    ImageDetail,
    OpenAISettings,
    ResponseFormat,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.records import GenerationParams, ReplySchema

AUDIO_FORMATS = ("wav", "mp3", "flac", "opus", "aac", "pcm", "pcm16")
"""Formats of sounds.

The last two names have the same meaning: samples without a header, which mmeval
converts to a WAV.
"""
_SAMPLES = ("pcm", "pcm16")

DEFAULT_VOICE = "alloy"
DEFAULT_AUDIO_FORMAT = "wav"

_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "stop")


def sampling(params: GenerationParams, settings: OpenAISettings) -> dict[str, Any]:
    """Returns the generation fields of a chat request.

    A parameter that is None keeps the server's default. The seed is added separately,
    because it differs for each request.
    """
    fields: dict[str, Any] = {}
    if params.temperature is not None:
        fields["temperature"] = params.temperature
    if params.top_p is not None:
        fields["top_p"] = params.top_p
    if params.top_k is not None:
        # vLLM and similar servers support this field, and others refuse it
        fields["top_k"] = params.top_k
    if params.max_tokens is not None:
        fields[settings.max_tokens_field] = params.max_tokens
    if params.stop:
        fields["stop"] = params.stop
    return fields


def reply_format(reply_schema: ReplySchema) -> dict[str, Any]:
    """Returns the field that makes a server enforce the form of a reply."""
    if reply_schema.form == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = dict(reply_schema.schema)
    if reply_schema.form == "json_schema":
        named = {"name": "reply", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {reply_schema.form: schema}


def image_detail(
    params: GenerationParams, settings: OpenAISettings
) -> ImageDetail | None:
    """Returns the resolution at which a chat model reads pictures.

    The backend's argument overrides the option. Raises CallError for an unknown value.
    """
    if settings.image_detail is not None:
        return settings.image_detail
    detail: ImageDetail | None = params.options.get("image.detail")
    _check_option("image.detail", detail, get_args(ImageDetail))
    return detail


def response_format(
    params: GenerationParams, settings: OpenAISettings
) -> ResponseFormat | None:
    """Returns the format of a chat model's replies, or None if it is not set.

    The backend's argument overrides the option. Raises CallError for an unknown value.
    """
    if settings.response_format is not None:
        return settings.response_format
    name: ResponseFormat | None = params.options.get("text.response_format")
    _check_option("text.response_format", name, get_args(ResponseFormat))
    return name


def _check_option(name: str, value: object, known: Collection[str]) -> None:
    if value is not None and value not in known:
        raise CallError(
            "bad_request", f"{name}={value!r} must be one of {', '.join(known)}"
        )


def voice(params: GenerationParams) -> str:
    return str(params.options.get("audio.voice", DEFAULT_VOICE))


def audio_format(params: GenerationParams) -> str:
    """Returns the requested format, under its name in chats.

    Raises CallError for an unknown format.
    """
    form = str(params.options.get("audio.format", DEFAULT_AUDIO_FORMAT))
    if form not in AUDIO_FORMATS:
        raise CallError(
            "bad_request",
            f"audio.format={form!r} must be one of {', '.join(AUDIO_FORMATS)}",
        )
    return "pcm16" if form in _SAMPLES else form


def speech_format(params: GenerationParams) -> str:
    """Returns the requested format, under its name in speech requests.

    Raises CallError for an unknown format.
    """
    form = audio_format(params)
    return "pcm" if form in _SAMPLES else form


def unsent(
    params: GenerationParams,
    endpoint: str,
    *,
    sampled: bool,
    options: Collection[str] = (),
) -> tuple[str, ...]:
    """Returns warnings for parameters without a field in this endpoint.

    ``sampled`` is True if the endpoint supports sampling parameters. ``options`` are
    the modality options without a field.
    """
    names = [name for name in params.options if name in options]
    if not sampled:
        unsupported = [
            name for name in _SAMPLING if getattr(params, name) not in (None, ())
        ]
        names = unsupported + names
    if not names:
        return ()
    return (f"{endpoint} has no field for {', '.join(names)}; not sent",)
