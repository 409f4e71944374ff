"""The settings of the backend, checked before any request."""

from __future__ import annotations

import ipaddress
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from mmeval.backend import Capabilities, Limit
from mmeval.content import PartKind
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.model_backends.openai.formats import (
    DEFAULT_FORMATS,
    DEFAULT_PICTURES,
    DEFAULT_SOUNDS,
    Formats,
)

OFFICIAL_URL = "https://api.openai.com/v1"

EndpointChoice = Literal["chat", "images", "speech", "audio", "auto"]
ImagesDialect = Literal["openai", "openrouter"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
ImageDetail = Literal["auto", "low", "high"]
ResponseFormat = Literal["json_object"]

INPUT_KINDS = ("text", "code", "image", "audio", "document", "video")
"""The kinds with a field in the interface; ``video`` is the dialect of vLLM and similar
servers."""

OPTIONS = (
    "image.size",
    "image.quality",
    "image.background",
    "image.output_format",
    "audio.voice",
    "audio.format",
)
"""The modality options that some endpoint has a field for."""

_INPUTS_OF: dict[str, tuple[str, ...]] = {
    "chat": INPUT_KINDS,
    "images": ("text", "code", "image"),
    "speech": ("text", "code"),
    "audio": ("text", "code"),
    "auto": INPUT_KINDS,
}
_OUTPUTS_OF: dict[str, tuple[PartKind, ...]] = {
    "chat": ("text", "code", "image", "audio"),
    "images": ("image",),
    "speech": ("audio",),
    "audio": ("audio",),
    "auto": ("text", "code", "image", "audio"),
}


@dataclass(frozen=True)
class Settings:
    """One server and its options; ``timeout`` in seconds a call, the key never
    shown."""

    model: str
    base_url: str
    replicas: tuple[str, ...]
    revision: str
    endpoint: EndpointChoice
    capabilities: Capabilities
    timeout: float
    send_seed: bool
    max_tokens_field: MaxTokensField
    image_response_format: str
    image_detail: ImageDetail | None
    response_format: ResponseFormat | None
    max_reply_bytes: int
    organization: str
    project: str
    api_key: str = field(repr=False)
    seed_all: bool = False
    """Whether a seed is sent to the endpoints of pictures and speech too."""
    stream: bool = False
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers of the user's own, whose values are secrets."""
    api_key_header: str = ""
    query: str = ""
    formats: Formats = DEFAULT_FORMATS
    fetch_links: frozenset[str] = frozenset()
    images_dialect: ImagesDialect = "openai"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may stand in no file and no output, the longest first: one may hold
        another."""
        known = {self.api_key, *self.extra_headers.values()} - {""}
        return tuple(sorted(known, key=len, reverse=True))

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def address(self) -> str:
        """Host and port, as messages name the server."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    def identity(self) -> dict[str, Any]:
        """The settings by which answers may be reused; not the key, the replicas, nor
        the timeout."""
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
        given: dict[str, Any] = {
            "image_response_format": self.image_response_format,
            "image_detail": self.image_detail,
            "response_format": self.response_format,
            "seed_all": self.seed_all and self.endpoint != "chat",
            "stream": self.stream,
            "extra_body": dict(self.extra_body),
            "extra_headers": sorted(name.lower() for name in self.extra_headers),
            "api_key_header": self.api_key_header,
            "query": self.query,
            "fetch_links": sorted(self.fetch_links),
            "images_dialect": self.images_dialect
            if self.images_dialect != "openai"
            else "",
        }
        if self.formats.images != DEFAULT_PICTURES:
            given["image_formats"] = sorted(self.formats.images)
        if self.formats.sounds != DEFAULT_SOUNDS:
            given["audio_formats"] = sorted(self.formats.sounds)
        return identity | {name: value for name, value in given.items() if value}


def checked_base_url(given: str, argument: str = "base_url") -> str:
    """The server's address: the argument, OPENAI_BASE_URL, or the official one.
    It has no trailing slash.

    Raises UsageError for anything but a plain http or https address. Credentials and
    queries are refused, because the address is written into results.
    """
    url = (given or os.environ.get("OPENAI_BASE_URL", "") or OFFICIAL_URL).strip()
    if "@" in url or "?" in url or "#" in url:
        raise UsageError(
            f"{argument} must hold no user name, query or fragment; keys go into "
            "OPENAI_API_KEY, a query into the argument query",
            name=argument,
        )
    if "://" not in url:
        raise UsageError(
            f"{argument}={url!r} has no scheme; write http://{url} or https://{url}",
            name=argument,
        )
    try:
        parsed = urlsplit(url)
        _ = parsed.port
    except ValueError as error:
        advice = "write it like http://localhost:8000/v1"
        raise UsageError(
            f"{argument} is no address ({error}); {advice}", name=argument
        ) from None
    url = url.rstrip("/")
    if (
        parsed.scheme not in ("http", "https")
        or not parsed.hostname
        or any(c.isspace() for c in url)
    ):
        advice = "write it like http://localhost:8000/v1"
        raise UsageError(
            f"{argument}={url!r} is no http address; {advice}", name=argument
        )
    if url.endswith(
        (
            "/chat/completions",
            "/completions",
            "/images/generations",
            "/audio/speech",
            "/audio/generate",
        )
    ):
        advice = "give the part before it, which mostly ends in /v1"
        raise UsageError(
            f"{argument}={url!r} names an endpoint; {advice}", name=argument
        )
    return url


def checked_replicas(given: str | Sequence[str]) -> tuple[str, ...]:
    """More addresses of the same model. Raises UsageError as ``checked_base_url``
    does."""
    urls = given.split("+") if isinstance(given, str) else given
    return tuple(checked_base_url(url, "replicas") for url in urls if url)


def read_api_key(api_key_file: str, base_urls: Sequence[str]) -> str:
    """The key from the file or OPENAI_API_KEY; empty for local servers without one.
    Raises MissingDataError without a key for a server that is not local, UsageError for
    an invalid key."""
    key = (
        _key_in_file(Path(api_key_file).expanduser())
        if api_key_file
        else os.environ.get("OPENAI_API_KEY", "").strip()
    )
    far = [url for url in base_urls if not is_local(urlsplit(url).hostname or "")]
    if not key and far:
        raise MissingDataError(
            f"{far[0]} needs a key: set the environment variable OPENAI_API_KEY, or "
            "give a file that holds it "
            "with api_key_file=FILE",
            name="OPENAI_API_KEY",
        )
    if not all("!" <= char <= "~" for char in key):
        origin = api_key_file or "OPENAI_API_KEY"
        raise UsageError(
            f"the key in {origin} holds characters that no key has; it must be one "
            "word of plain ASCII"
        )
    return key


def _key_in_file(path: Path) -> str:
    how_to_fix = (
        "give a readable file with the key in it as api_key_file=FILE, or set "
        "OPENAI_API_KEY"
    )
    try:
        key = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise MissingDataError(
            f"{path}: the key cannot be read ({reason}); {how_to_fix}", file=path
        ) from None
    if not key:
        raise MissingDataError(
            f"{path}: the key file is empty; {how_to_fix}", file=path
        )
    return key


def is_local(host: str) -> bool:
    """Whether it is this machine or its own network, where servers mostly need no
    key."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))


def capabilities_of(
    endpoint: EndpointChoice,
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    max_images: int = 0,
    formats: Formats | None = None,
) -> Capabilities:
    """What an endpoint takes and gives. Raises UnknownNameError for unsupported kinds.
    Inputs are limited to those of the endpoint, and to ``max_images`` pictures (0: any
    number); it also decides the default outputs."""
    taken = [
        kind
        for kind in kinds_in("inputs", inputs, INPUT_KINDS)
        if kind in _INPUTS_OF[endpoint]
    ]
    default = "text" if "text" in _OUTPUTS_OF[endpoint] else _OUTPUTS_OF[endpoint]
    given_kinds = ", ".join(_OUTPUTS_OF[endpoint])
    given = kinds_in(
        "outputs",
        outputs or default,
        _OUTPUTS_OF[endpoint],
        f"endpoint={endpoint} gives {given_kinds}.",
    )
    mode: Literal["single", "interleaved"] = (
        "interleaved" if len(set(given) - {"code"}) > 1 else "single"
    )
    own = Capabilities.of(taken, given, mode)
    limits: dict[PartKind, Limit] = dict(own.inputs)
    if max_images and "image" in limits:
        limits["image"] = Limit(max_items=max_images)
    for kind, limit in limits.items():
        limits[kind] = replace(limit, formats=(formats or DEFAULT_FORMATS).mimes(kind))
    return replace(
        own,
        inputs=limits,
        declarable=frozenset(_OUTPUTS_OF[endpoint]),
        options=frozenset(OPTIONS),
    )


def kinds_in(
    argument: str, value: str | Sequence[str], known: Sequence[str], hint: str = ""
) -> list[str]:
    """The kinds in ``text+image`` or in a list of names."""
    names = value.split("+") if isinstance(value, str) else list(value)
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"kind in {argument}",
                str(name),
                known,
                hint or f"Known: {', '.join(known)}.",
            )
    return names


def checked_choice(argument: str, value: object, choices: object) -> Any:
    """A value of a literal type. Raises UnknownNameError with near names for others."""
    known = get_args(choices)
    if value not in known:
        raise UnknownNameError(
            argument, str(value), known, f"Known: {', '.join(known)}."
        )
    return value


def checked_positive(argument: str, value: object) -> float:
    """A number above 0. Raises UsageError for anything else."""
    try:
        number = float(value)  # type: ignore[arg-type]  # the user may write anything
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{argument}={value!r} is not a number above 0", name=argument)
    return number
