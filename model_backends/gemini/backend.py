"""The backend, which calls one of Google's two interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.errors import UsageError
from mmeval.model_backends.gemini.generate import GenerateEndpoint
from mmeval.model_backends.gemini.interactions import InteractionsEndpoint
from mmeval.model_backends.gemini.settings import (
    DEFAULT_VOICE,
    KEY_HEADER,
    KEY_NAMES,
    PICTURES,
    SOUNDS,
    Api,
    GeminiSettings,
    capabilities_of,
    checked_version,
    gemini_replicas,
    gemini_url,
)
from mmeval.model_backends.wire.backend import Endpoint, WireBackend
from mmeval.model_backends.wire.connection import (
    checked_choice,
    checked_positive,
    read_api_key,
)
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.formats import PICTURES as KNOWN_PICTURES
from mmeval.model_backends.wire.formats import Formats, checked_formats
from mmeval.model_backends.wire.transport import HttpRequest
from mmeval.model_backends.wire.user_fields import (
    checked_extra_body,
    checked_hosts,
    checked_query,
    read_headers,
)
from mmeval.records import Request

MAX_BYTES = 100 * 2**20
"""The maximum size of a request: the largest limit in Google's documentation."""


class GeminiBackend(WireBackend):
    """A model of Google, called through Google's own interfaces.

    :param model: the model's name, such as ``gemini-3-pro-image``.
    :param base_url: the server's address without a version. By default it is the
        official address.
    :param replicas: more addresses of the same model, separated by ``+``.
    :param api: ``generate`` (``generateContent``) or ``interactions``.
    :param api_version: the version in the path. It is empty for a gateway without
        versions.
    :param api_key_file: a file with the key. By default the key comes from the
        environment variable ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``. Local servers may
        need no key.
    :param outputs: output kinds of the model, such as ``text+image``. The default is
        text.
    :param inputs: input kinds of the model.
    :param stream: request a stream. A stream that was not requested is also read.
    :param voice: the voice of generated speech, unless ``audio.voice`` names another
        voice.
    :param thoughts: request the model's thoughts.
    :param extra_body: fields that are merged into the body. Null removes a field.
    :param extra_headers_file: a JSON file with headers. Their values are secrets.
    :param query: a query that is added to every address.
    :param send_seed: send a seed.
    :param fetch_links: hosts, separated by ``+``. Links to these hosts in answers are
        fetched.
    :param timeout: the maximum number of seconds for a complete call.
    :param max_reply_bytes: the maximum size of a reply. A larger reply is an error.
    :param image_formats: formats of pictures that are sent unchanged. Other formats are
        converted to PNG.

    Raises UsageError for invalid arguments. Raises MissingError if the key is missing
    and the server is not local.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "",
        replicas: str | Sequence[str] = "",
        api: Api = "generate",
        api_version: str = "v1beta",
        api_key_file: str = "",
        outputs: str | Sequence[str] = "",
        inputs: str | Sequence[str] = "text+image+audio+video+document",
        stream: bool = False,
        voice: str = DEFAULT_VOICE,
        thoughts: bool = True,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers_file: str = "",
        query: str = "",
        send_seed: bool = True,
        fetch_links: str = "",
        timeout: float = 600,
        max_reply_bytes: int = 2**28,
        image_formats: str = "+".join(PICTURES),
    ) -> None:
        name = str(model).strip().removeprefix("models/")
        if not name:
            raise UsageError(
                "the backend gemini needs the name of a model; add model=NAME"
            )
        address, replica_urls = gemini_url(str(base_url)), gemini_replicas(replicas)
        chosen: Api = checked_choice("api", api, Api)
        pictures = checked_formats("image_formats", image_formats, KNOWN_PICTURES)
        formats = Formats(tuple(pictures), SOUNDS)
        self._settings = GeminiSettings(
            model=name,
            base_url=address,
            replicas=replica_urls,
            api=chosen,
            api_version=checked_version(str(api_version)),
            capabilities=capabilities_of(chosen, inputs, outputs, formats),
            formats=formats,
            timeout=checked_positive("timeout", timeout),
            max_reply_bytes=int(checked_positive("max_reply_bytes", max_reply_bytes)),
            api_key=read_api_key(
                str(api_key_file), (address, *replica_urls), KEY_NAMES
            ),
            api_key_header=KEY_HEADER,
            key_name=KEY_NAMES[0],
            stream=bool(stream),
            voice=str(voice),
            thoughts=bool(thoughts),
            send_seed=bool(send_seed),
            extra_body=checked_extra_body(extra_body),
            extra_headers=read_headers(str(extra_headers_file)),
            query=checked_query(str(query), KEY_NAMES[0]),
            fetch_links=checked_hosts(str(fetch_links)),
        )
        super().__init__(self._settings)
        self._interface: Endpoint = (
            GenerateEndpoint(self._settings)
            if chosen == "generate"
            else InteractionsEndpoint(self._settings)
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._settings.identity()

    def _endpoint(self, request: Request) -> Endpoint:
        del request  # All requests to a model use the same interface.
        return self._interface

    def _encode(self, request: Request) -> HttpRequest:
        encoded = super()._encode(request)
        if len(encoded.body) > MAX_BYTES:
            raise CallError(
                "too_long",
                f"the request has {len(encoded.body):,} bytes, but the service accepts "
                f"at most {MAX_BYTES:,}",
            )
        return encoded

    def __repr__(self) -> str:
        return (
            f"GeminiBackend(model={self._settings.model!r}, "
            f"base_url={self._settings.base_url!r})"
        )
