"""The backend: chooses a request's endpoint, returns its answer or a typed error."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from mmeval.backend import Capabilities
from mmeval.errors import MmevalError, UsageError
from mmeval.model_backends.openai.batches import ChatBatches
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.openai.failures import CallError, failed
from mmeval.model_backends.openai.formats import (
    DEFAULT_PICTURES,
    DEFAULT_SOUNDS,
    PICTURES,
    SOUNDS,
    Formats,
    checked_formats,
    notes,
)
from mmeval.model_backends.openai.images import ImagesEndpoint
from mmeval.model_backends.openai.own_fields import (
    checked_extra_body,
    checked_hosts,
    checked_key_header,
    checked_query,
    read_headers,
)
from mmeval.model_backends.openai.parameters import check_options
from mmeval.model_backends.openai.replies.links import Links
from mmeval.model_backends.openai.replies.server_errors import http_error
from mmeval.model_backends.openai.settings import (
    EndpointChoice,
    ImageDetail,
    ImagesDialect,
    MaxTokensField,
    ResponseFormat,
    Settings,
    capabilities_of,
    checked_base_url,
    checked_choice,
    checked_positive,
    checked_replicas,
    read_api_key,
)
from mmeval.model_backends.openai.speech import SoundsEndpoint, SpeechEndpoint
from mmeval.model_backends.openai.transport import Outgoing, Received, Transport
from mmeval.records import Request, Response

OFFLOAD_BYTES = 2**21
"""Media and replies above this size (a few milliseconds of work) are encoded and
decoded in a thread."""
NOTICE_SECONDS = 60.0
"""A call that has waited for so long says so, once."""
_ANTHROPIC = "api.anthropic.com"

log = logging.getLogger(__name__)


class Endpoint(Protocol):
    """An endpoint: encodes a request, decodes a reply. Both raise CallError."""

    def encode(self, request: Request) -> Outgoing: ...
    def decode(
        self, received: Received, request: Request, links: Links | None = None
    ) -> Response: ...


class OpenAIBackend:
    """A model behind a server with the OpenAI interface.

    :param model: the model's name at the server.
    :param base_url: where the server is, such as ``http://localhost:8000/v1``; else
        ``OPENAI_BASE_URL``, else the official one.
    :param replicas: more addresses of the same model, separated by ``+``; a call
        goes to the least busy one.
    :param api_key_file: a file that holds the key; else ``OPENAI_API_KEY``. Local
        servers may do without.
    :param revision: which weights the server runs, if you know; only part of the
        identity.
    :param outputs: kinds that the model gives, such as ``text+image``; empty: what
        the endpoint is for.
    :param inputs: kinds that the model takes; ``video`` is sent in the dialect of
        vLLM.
    :param max_images: pictures that a request may hold; 0: any number.
    :param endpoint: ``chat``, ``images``, ``speech``, ``audio`` (sounds and music of
        vLLM-Omni), or ``auto``: images or speech for requests that want one picture or
        one sound and nothing else, chat for all others.
    :param timeout: seconds for a whole call.
    :param send_seed: send a seed: with chats and ``audio`` unless this is false, with
        pictures and speech only where it is true.
    :param max_tokens_field: ``max_completion_tokens`` for reasoning models of the
        official server.
    :param image_detail: ``auto``, ``low`` or ``high``: how closely a chat model
        looks at pictures that are sent, and what they cost; None: the server's
        default.
    :param response_format: ``json_object`` for chat replies that are one JSON
        object; a server may refuse it where the prompt does not speak of JSON.
    :param image_response_format: sent to the image endpoints when set; ``b64_json``
        for servers that give links.
    :param max_reply_bytes: larger replies are errors.
    :param stream: ask for a stream; one that comes unasked is read too.
    :param extra_body: fields that are merged into the body; a null removes a field.
    :param extra_headers_file: a JSON file of headers, whose values are secrets.
    :param api_key_header: the header for the bare key, in place of ``Authorization``.
    :param query: is added to every address, such as ``api-version=2025-04-01``.
    :param image_formats: formats of pictures that are sent as they are; others are
        encoded as PNG.
    :param audio_formats: the same for sounds, which are encoded as WAV.
    :param fetch_links: hosts, separated by ``+``, whose links in answers are fetched.
    :param images_dialect: ``openrouter`` for the way to ask for pictures there.
    :param batch: ask chat requests by the server's Batch API: within a day, at half
        the price.

    Raises UsageError for arguments that cannot be used, MissingDataError without a key
    for a server that is not local, MissingExtraError for batches without openai.
    """

    takes_key: ClassVar[bool] = True
    """Whether the server may ask for a key."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "",
        replicas: str | Sequence[str] = "",
        api_key_file: str = "",
        revision: str = "",
        outputs: str | Sequence[str] = "",
        inputs: str | Sequence[str] = "text+image+audio+document",
        max_images: int = 0,
        endpoint: EndpointChoice = "chat",
        timeout: float = 600,
        send_seed: bool | None = None,
        max_tokens_field: MaxTokensField = "max_tokens",
        image_response_format: str = "",
        image_detail: ImageDetail | None = None,
        response_format: ResponseFormat | None = None,
        max_reply_bytes: int = 2**28,
        organization: str = "",
        project: str = "",
        stream: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers_file: str = "",
        api_key_header: str = "",
        query: str = "",
        image_formats: str = "+".join(DEFAULT_PICTURES),
        audio_formats: str = "+".join(DEFAULT_SOUNDS),
        fetch_links: str = "",
        images_dialect: ImagesDialect = "openai",
        batch: bool = False,
    ) -> None:
        if not str(model).strip():
            raise UsageError("the backend openai needs the name of a model: model=NAME")
        if send_seed is not None and not isinstance(send_seed, bool):
            raise UsageError(f"send_seed={send_seed!r} is neither true nor false")
        if batch and stream:
            raise UsageError(
                "batch=true asks for no streams: leave stream out", name="stream"
            )
        if batch and fetch_links:
            raise UsageError(
                "batch=true fetches no links: leave fetch_links out",
                name="fetch_links",
            )
        if batch and endpoint in ("images", "speech", "audio"):
            raise UsageError(
                f"batch=true takes chat requests alone, not endpoint={endpoint}",
                name="batch",
            )
        address, others = checked_base_url(str(base_url)), checked_replicas(replicas)
        if batch and others:
            raise UsageError(
                "batch=true asks one server: leave replicas out", name="replicas"
            )
        chosen: EndpointChoice = checked_choice("endpoint", endpoint, EndpointChoice)
        formats = Formats(
            tuple(checked_formats("image_formats", image_formats, PICTURES)),
            tuple(checked_formats("audio_formats", audio_formats, SOUNDS)),
        )
        self._settings = Settings(
            model=str(model),
            base_url=address,
            replicas=others,
            revision=str(revision),
            endpoint=chosen,
            capabilities=capabilities_of(chosen, inputs, outputs, max_images, formats),
            timeout=checked_positive("timeout", timeout),
            send_seed=send_seed is not False,
            seed_all=send_seed is True,
            max_tokens_field=checked_choice(
                "max_tokens_field", max_tokens_field, MaxTokensField
            ),
            image_response_format=str(image_response_format),
            image_detail=image_detail
            and checked_choice("image_detail", image_detail, ImageDetail),
            response_format=response_format
            and checked_choice("response_format", response_format, ResponseFormat),
            max_reply_bytes=int(checked_positive("max_reply_bytes", max_reply_bytes)),
            organization=_header_word("organization", organization),
            project=_header_word("project", project),
            api_key=read_api_key(str(api_key_file), (address, *others))
            if self.takes_key
            else "",
            stream=bool(stream),
            extra_body=checked_extra_body(extra_body),
            extra_headers=read_headers(str(extra_headers_file)),
            api_key_header=checked_key_header(str(api_key_header)),
            query=checked_query(str(query)),
            formats=formats,
            fetch_links=checked_hosts(str(fetch_links)),
            images_dialect=checked_choice(
                "images_dialect", images_dialect, ImagesDialect
            ),
        )
        if self._settings.host == _ANTHROPIC and send_seed is not False:
            log.warning(
                "%s ignores a seed: its answers cannot be repeated; send_seed=false "
                "leaves it out",
                _ANTHROPIC,
            )
        self._transport = Transport(self._settings)
        self._chat = ChatEndpoint(self._settings)
        self._images = ImagesEndpoint(self._settings)
        self._speech = SpeechEndpoint(self._settings)
        self._sounds = SoundsEndpoint(self._settings)
        self._calls: dict[object, float] = {}
        """When each call under way began, the oldest first."""
        self._watch: asyncio.TimerHandle | None = None
        self._has_waited = False
        self.batches: ChatBatches | None = None
        """How requests are asked in batches (see ``mmeval.backend.contract.Batched``),
        where that is wanted."""
        if batch:
            is_chat = lambda request: self._endpoint(request) is self._chat  # noqa: E731
            self.batches = ChatBatches(
                self._settings, self._encode, self._chat.decode, is_chat
            )

    @property
    def capabilities(self) -> Capabilities:
        return self._settings.capabilities

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._settings.identity()

    @property
    def provenance(self) -> Mapping[str, Any]:
        replicas = (
            {"replicas": list(self._settings.replicas)}
            if self._settings.replicas
            else {}
        )
        return {
            "host": self._settings.host,
            **replicas,
            "aiohttp": importlib.metadata.version("aiohttp"),
        }

    async def generate(self, request: Request) -> Response:
        """The server's answer; the caller decides by an error's kind whether to
        repeat."""
        latency = 0.0
        call = object()
        self._begin(call)
        try:
            endpoint = self._endpoint(request)
            outgoing = (
                await asyncio.to_thread(self._encode, request)
                if _is_large(request)
                else self._encode(request)
            )
            received = await self._transport.post(outgoing, request.key)
            latency = received.latency
            try:
                if not 200 <= received.status < 300:
                    keyed = bool(self._settings.api_key)
                    raise http_error(
                        received.status, received.headers, received.body, keyed=keyed
                    )
                response = await self._read(endpoint, received, request)
            finally:
                self._transport.release(received)
            if outgoing.notes:
                warnings = (*outgoing.notes, *response.warnings)
                response = replace(response, warnings=warnings)
            return response
        except MmevalError as error:
            return failed(error, self._settings.secrets, latency)
        finally:
            del self._calls[call]

    async def _read(
        self, endpoint: Endpoint, received: Received, request: Request
    ) -> Response:
        """The answer in a reply, read again with the links that it needs."""
        hosts = self._settings.fetch_links
        if not hosts:
            return await _decoded(endpoint, received, request)
        links = Links(hosts, self._transport.base_url)
        response = await _decoded(endpoint, received, request, links)
        if not links.wanted:
            return response
        await self._transport.fetch(links)
        return await _decoded(endpoint, received, request, links)

    def _begin(self, call: object) -> None:
        """Note a call under way. One timer looks after all: a timer for each would cost
        more than what is left of a small call."""
        loop = asyncio.get_running_loop()
        self._calls[call] = loop.time()
        if self._watch is None and not self._has_waited:
            self._watch = loop.call_later(NOTICE_SECONDS, self._look)

    def _look(self) -> None:
        """Say once that a call takes long, and until when it may."""
        self._watch = None
        if not self._calls or self._has_waited:
            return
        loop = asyncio.get_running_loop()
        due = next(iter(self._calls.values())) + NOTICE_SECONDS
        if loop.time() < due:
            self._watch = loop.call_at(due, self._look)
            return
        self._has_waited = True
        log.warning(
            "a call has waited %.0f s for %s; it may take %g s (timeout)",
            NOTICE_SECONDS,
            self._settings.address,
            self._settings.timeout,
        )

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        await self._transport.close()

    def _endpoint(self, request: Request) -> Endpoint:
        choice = self._settings.endpoint
        if choice == "images" or (choice == "auto" and request.wants == ("image",)):
            return self._images
        if choice == "speech" or (choice == "auto" and request.wants == ("audio",)):
            return self._speech
        if choice == "audio":
            return self._sounds
        return self._chat

    def _encode(self, request: Request) -> Outgoing:
        """The request as sent. Raises CallError for what cannot be, ContentError for a
        medium that cannot be read."""
        if request.params.options:
            check_options(request.params)
        for kind in request.wants:
            if kind not in self._settings.capabilities.outputs:
                raise CallError(
                    "unsupported",
                    f"this server is not declared to give {kind} (see its argument "
                    "outputs)",
                )
        outgoing = self._endpoint(request).encode(request)
        reencoded = tuple(notes(request, self._settings.formats))
        return outgoing._replace(notes=reencoded) if reencoded else outgoing

    def __repr__(self) -> str:
        return (
            f"OpenAIBackend(model={self._settings.model!r}, "
            f"base_url={self._settings.base_url!r})"
        )


async def _decoded(
    endpoint: Endpoint,
    received: Received,
    request: Request,
    links: Links | None = None,
) -> Response:
    if len(received.body) <= OFFLOAD_BYTES:
        return endpoint.decode(received, request, links)
    decoding = asyncio.ensure_future(
        asyncio.to_thread(endpoint.decode, received, request, links)
    )
    # by a run that is left: what has arrived is kept
    with contextlib.suppress(asyncio.CancelledError):
        return await asyncio.shield(decoding)
    return await decoding


def _is_large(request: Request) -> bool:
    size = 0
    for message in request.messages:
        for part in message.content.parts:
            if part.media is not None:
                size += part.media.size
    return size > OFFLOAD_BYTES


def _header_word(argument: str, value: str) -> str:
    text = str(value)
    if not all("!" <= char <= "~" for char in text):
        raise UsageError(f"{argument}={text!r} must be one word of plain ASCII")
    return text
