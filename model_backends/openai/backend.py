"""The backend: chooses a request's endpoint, returns its answer or a typed error."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from mmeval.backend import Capabilities
from mmeval.errors import MmevalError, UsageError
from mmeval.model_backends.openai.batches import ChatBatches
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.openai.failures import CallError, failed, http_error
from mmeval.model_backends.openai.images import ImagesEndpoint
from mmeval.model_backends.openai.parameters import check_options
from mmeval.model_backends.openai.settings import (
    EndpointChoice,
    ImageDetail,
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
from mmeval.model_backends.openai.speech import SpeechEndpoint
from mmeval.model_backends.openai.transport import Outgoing, Received, Transport
from mmeval.records import Request, Response

OFFLOAD_BYTES = 2**21
"""Media and replies above this size (a few milliseconds of work) are encoded and
decoded in a thread."""


class Endpoint(Protocol):
    """An endpoint: encodes a request, decodes a reply. Both raise CallError."""

    def encode(self, request: Request) -> Outgoing: ...
    def decode(self, received: Received, request: Request) -> Response: ...


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
    :param endpoint: ``chat``, ``images``, ``speech``, or ``auto``: images or speech
        for requests that want one picture or one sound and nothing else, chat for
        all others.
    :param timeout: seconds for a whole call.
    :param send_seed: send a seed with chat requests.
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
        send_seed: bool = True,
        max_tokens_field: MaxTokensField = "max_tokens",
        image_response_format: str = "",
        image_detail: ImageDetail | None = None,
        response_format: ResponseFormat | None = None,
        max_reply_bytes: int = 2**28,
        organization: str = "",
        project: str = "",
        batch: bool = False,
    ) -> None:
        if not str(model).strip():
            raise UsageError("the backend openai needs the name of a model: model=NAME")
        if not isinstance(send_seed, bool):
            raise UsageError(f"send_seed={send_seed!r} is neither true nor false")
        if batch and endpoint in ("images", "speech"):
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
        self._settings = Settings(
            model=str(model),
            base_url=address,
            replicas=others,
            revision=str(revision),
            endpoint=chosen,
            capabilities=capabilities_of(chosen, inputs, outputs, max_images),
            timeout=checked_positive("timeout", timeout),
            send_seed=send_seed,
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
        )
        self._transport = Transport(self._settings)
        self._chat = ChatEndpoint(self._settings)
        self._images = ImagesEndpoint(self._settings)
        self._speech = SpeechEndpoint(self._settings)
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
                return await _decoded(endpoint, received, request)
            finally:
                self._transport.release(received)
        except MmevalError as error:
            return failed(error, self._settings.api_key, latency)

    async def close(self) -> None:
        await self._transport.close()

    def _endpoint(self, request: Request) -> Endpoint:
        choice = self._settings.endpoint
        if choice == "images" or (choice == "auto" and request.wants == ("image",)):
            return self._images
        if choice == "speech" or (choice == "auto" and request.wants == ("audio",)):
            return self._speech
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
        return self._endpoint(request).encode(request)

    def __repr__(self) -> str:
        return (
            f"OpenAIBackend(model={self._settings.model!r}, "
            f"base_url={self._settings.base_url!r})"
        )


async def _decoded(
    endpoint: Endpoint, received: Received, request: Request
) -> Response:
    if len(received.body) <= OFFLOAD_BYTES:
        return endpoint.decode(received, request)
    decoding = asyncio.ensure_future(
        asyncio.to_thread(endpoint.decode, received, request)
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
