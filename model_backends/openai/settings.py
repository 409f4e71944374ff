"""The backend's settings, checked before any request."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from mmeval.backend import Capabilities, ReplyFormat
from mmeval.media import PartKind
from mmeval.model_backends.wire.capabilities import kinds_in, named_capabilities
from mmeval.model_backends.wire.connection import Connection, checked_base_url
from mmeval.model_backends.wire.formats import (
    DEFAULT_FORMATS,
    DEFAULT_PICTURES,
    DEFAULT_SOUNDS,
    Formats,
)

OFFICIAL_URL = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"

EndpointChoice = Literal[
    "chat", "responses", "images", "videos", "meshes", "speech", "audio", "auto"
]
State = Literal["items", "previous"]
ImagesDialect = Literal["openai", "openrouter"]
VideosDialect = Literal["openai", "openrouter"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
ImageDetail = Literal["auto", "low", "high"]
ResponseFormat = Literal["json_object"]

_ENDPOINT_PATHS = (
    "/chat/completions",
    "/completions",
    "/responses",
    "/images/generations",
    "/videos",
    "/meshes",
    "/audio/speech",
    "/audio/generate",
)

INPUT_KINDS = ("text", "code", "image", "audio", "document", "video")
"""The kinds with a field in the interface.

``video`` is an extension of vLLM and similar servers.
"""

CHAT_OPTIONS = ("image.detail", "text.response_format")
"""The options that have a field in chats only."""
OPTIONS = (
    "image.size",
    "image.quality",
    "image.background",
    "image.output_format",
    *CHAT_OPTIONS,
    "audio.voice",
    "audio.format",
    "video.size",
    "video.seconds",
    "video.fps",
)
"""The modality options with a field in at least one endpoint."""

_INPUTS_OF: dict[str, tuple[str, ...]] = {
    "chat": INPUT_KINDS,
    "responses": ("text", "code", "image", "audio", "document"),
    "images": ("text", "code", "image"),
    "videos": ("text", "code", "image"),
    "meshes": ("text", "code", "image"),
    "speech": ("text", "code"),
    "audio": ("text", "code"),
    "auto": INPUT_KINDS,
}
_OUTPUTS_OF: dict[str, tuple[PartKind, ...]] = {
    "chat": ("text", "code", "image", "audio"),
    "responses": ("text", "code", "image"),
    "images": ("image",),
    "videos": ("video",),
    "meshes": ("3d",),
    "speech": ("audio",),
    "audio": ("audio",),
    "auto": ("text", "code", "image", "audio", "video", "3d"),
}


@dataclass(frozen=True, kw_only=True)
class OpenAISettings(Connection):
    """The settings for one server."""

    revision: str
    endpoint: EndpointChoice
    send_seed: bool
    max_tokens_field: MaxTokensField
    image_response_format: str
    image_detail: ImageDetail | None
    response_format: ResponseFormat | None
    organization: str
    project: str
    seed_all: bool = False
    """True if seeds are also sent to the endpoints for pictures, videos and speech."""
    stream: bool = False
    images_dialect: ImagesDialect = "openai"
    image_tool: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the tool that draws. They override a task's options."""
    state: State = "items"
    """The form in which earlier answers are sent back to ``responses``."""
    poll_seconds: float = 5.0
    """Seconds between two polls of a job."""
    videos_dialect: VideosDialect = "openai"
    videos_sync: bool = False

    @property
    def in_background(self) -> bool:
        """True if ``responses`` runs requests as jobs."""
        return self.extra_body.get("background") is True

    @property
    def interface_headers(self) -> Mapping[str, str]:
        return {
            "OpenAI-Organization": self.organization,
            "OpenAI-Project": self.project,
        }

    def identity(self) -> dict[str, Any]:
        """Returns the settings that identify the model.

        Answers of backends with equal identities may be reused. The key, the replicas
        and the timeout are not part of the identity.
        """
        identity: dict[str, Any] = {
            "backend": "openai",
            "model": self.model,
            "base_url": self.base_url,
            "revision": self.revision,
            "endpoint": self.endpoint,
            "outputs": sorted(self.capabilities.outputs),
            "send_seed": self.send_seed,
            "max_tokens_field": self.max_tokens_field,
        }
        optional: dict[str, Any] = {
            "image_response_format": self.image_response_format,
            "image_detail": self.image_detail,
            "response_format": self.response_format,
            "seed_all": self.seed_all and self.endpoint != "chat",
            "stream": self.stream,
            **self.reply_facts,
            "api_key_header": self.api_key_header,
            "image_tool": dict(self.image_tool),
            "videos_sync": self.videos_sync,
        }
        if self.images_dialect != "openai":
            optional["images_dialect"] = self.images_dialect
        if self.state != "items":
            optional["state"] = self.state
        if self.videos_dialect != "openai":
            optional["videos_dialect"] = self.videos_dialect
        if self.formats.images != DEFAULT_PICTURES:
            optional["image_formats"] = sorted(self.formats.images)
        if self.formats.sounds != DEFAULT_SOUNDS:
            optional["audio_formats"] = sorted(self.formats.sounds)
        return identity | {name: value for name, value in optional.items() if value}


def openai_url(url: str, argument: str = "base_url") -> str:
    """Returns the server's address.

    The address is ``url``, or else OPENAI_BASE_URL, or else the official address.
    Raises the errors of ``checked_base_url``.
    """
    return checked_base_url(
        url or os.environ.get("OPENAI_BASE_URL", "") or OFFICIAL_URL,
        argument=argument,
        key_name=KEY_NAME,
        endpoints=_ENDPOINT_PATHS,
    )


def openai_replicas(value: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the further addresses of the same model.

    Raises the errors of ``checked_base_url``.
    """
    urls = value.split("+") if isinstance(value, str) else value
    return tuple(openai_url(url, "replicas") for url in urls if url)


def capabilities_of(
    endpoint: EndpointChoice,
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    max_images: int = 0,
    formats: Formats | None = None,
) -> Capabilities:
    """Returns the capabilities of an endpoint.

    Inputs are limited to the kinds that the endpoint supports, and to ``max_images``
    pictures (0: any number). Without ``outputs``, the endpoint sets the outputs. Raises
    UnknownNameError for unsupported kinds.
    """
    declared = kinds_in("inputs", inputs, INPUT_KINDS)
    input_kinds = [kind for kind in declared if kind in _INPUTS_OF[endpoint]]
    known = _OUTPUTS_OF[endpoint]
    default = "text" if "text" in known else known
    hint = f"The output kinds of endpoint={endpoint} are: {', '.join(known)}."
    output_kinds = kinds_in("outputs", outputs or default, known, hint)
    return named_capabilities(
        input_kinds,
        output_kinds,
        declarable=known,
        options=OPTIONS,
        formats=formats or DEFAULT_FORMATS,
        max_images=max_images,
    )


def with_reply_formats(
    capabilities: Capabilities, endpoint: EndpointChoice, given: Collection[str]
) -> Capabilities:
    """Adds the ways to request JSON in a chat to the capabilities.

    If the user sets one of the fields for this, the capabilities are unchanged.
    """
    formats: tuple[ReplyFormat, ...] = get_args(ReplyFormat)
    own_fields = {"response_format", "guided_json", "format"}
    if endpoint not in ("chat", "auto") or not own_fields.isdisjoint(given):
        return capabilities
    return replace(capabilities, reply_formats=formats)
