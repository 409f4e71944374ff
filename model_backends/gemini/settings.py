"""The backend's settings, checked before any request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from mmeval.backend import Capabilities
from mmeval.errors import UsageError
from mmeval.media import PartKind
from mmeval.model_backends.wire.capabilities import kinds_in, named_capabilities
from mmeval.model_backends.wire.connection import Connection, checked_base_url
from mmeval.model_backends.wire.formats import Formats

OFFICIAL_URL = "https://generativelanguage.googleapis.com"
KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
KEY_HEADER = "x-goog-api-key"

Api = Literal["generate", "interactions"]

INPUT_KINDS = ("text", "code", "image", "audio", "video", "document")
_OUTPUTS_OF: dict[Api, tuple[PartKind, ...]] = {
    "generate": ("text", "code", "image", "audio"),
    "interactions": ("text", "code", "image", "audio", "video"),
}
PICTURES = ("png", "jpeg", "webp", "heic")
SOUNDS = ("wav", "mp3", "flac", "ogg", "aac", "aiff", "m4a")
"""The sound formats that the models accept. ``PICTURES`` are the picture formats."""

OPTIONS = ("image.aspect_ratio", "image.size", "audio.voice")
"""The modality options for which the interfaces have a field."""
DEFAULT_VOICE = "Kore"


@dataclass(frozen=True, kw_only=True)
class GeminiSettings(Connection):
    """The settings for one model."""

    api: Api
    api_version: str
    send_seed: bool = True
    stream: bool = False
    thoughts: bool = True
    voice: str = DEFAULT_VOICE

    @property
    def wire(self) -> str:
        """The name that marks turns that may be sent back to the model.

        The name includes the model's name, because a model only accepts signatures that
        it wrote itself.
        """
        return f"gemini/{self.api}/{self.model}"

    def path(self, method: str) -> str:
        """Returns the path of a method, such as ``interactions``, below the address."""
        return f"{self.api_version}/{method}" if self.api_version else method

    @property
    def model_path(self) -> str:
        name = self.model if "/" in self.model else f"models/{self.model}"
        return quote(name, safe="/")

    def identity(self) -> dict[str, Any]:
        """Returns the settings that identify the model.

        Answers are reused if these settings are equal. The key, the replicas and the
        timeout are not included.
        """
        identity: dict[str, Any] = {
            "backend": "gemini",
            "model": self.model,
            "base_url": self.base_url,
            "api": self.api,
            "api_version": self.api_version,
            "outputs": sorted(self.capabilities.outputs),
            "send_seed": self.send_seed,
            "thoughts": self.thoughts,
        }
        identity |= self.reply_facts
        if self.stream:
            identity["stream"] = True
        if self.voice and self.voice != DEFAULT_VOICE:
            identity["voice"] = self.voice
        if self.formats.images != PICTURES:
            identity["image_formats"] = sorted(self.formats.images)
        return identity


def gemini_url(value: str, argument: str = "base_url") -> str:
    """Returns the server's address: the argument, or the official address.

    Raises UsageError as ``checked_base_url`` does, and for an address that ends in a
    version.
    """
    url = checked_base_url(
        value or OFFICIAL_URL, argument=argument, key_name=KEY_NAMES[0]
    )
    version = url.rpartition("/")[2]
    if version in ("v1", "v1beta", "v1alpha"):
        raise UsageError(
            f"{argument}={url!r} ends in a version; remove the version and add "
            f"api_version={version}",
            name=argument,
        )
    return url


def gemini_replicas(value: str | Sequence[str]) -> tuple[str, ...]:
    """Returns more addresses of the same model.

    Raises UsageError as ``gemini_url`` does.
    """
    urls = value.split("+") if isinstance(value, str) else value
    return tuple(gemini_url(url, "replicas") for url in urls if url)


def checked_version(value: str) -> str:
    """Returns the version in the path, which is empty for some gateways.

    Raises UsageError for anything but letters and digits.
    """
    version = value.strip("/")
    if not all(char.isascii() and char.isalnum() for char in version):
        raise UsageError(
            f"api_version={value!r} is not a version; use a name such as v1 or v1beta",
            name="api_version",
        )
    return version


def capabilities_of(
    api: Api,
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    formats: Formats,
) -> Capabilities:
    """Returns the model's capabilities.

    Raises UnknownNameError for unsupported kinds.
    """
    known = _OUTPUTS_OF[api]
    input_kinds = kinds_in("inputs", inputs, INPUT_KINDS)
    hint = f"The outputs of api={api} are {', '.join(known)}."
    output_kinds = kinds_in("outputs", outputs or "text", known, hint)
    return named_capabilities(
        input_kinds, output_kinds, declarable=known, options=OPTIONS, formats=formats
    )
