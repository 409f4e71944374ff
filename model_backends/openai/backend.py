"""The backend, which chooses a request's endpoint and returns an answer or an error."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mmeval.errors import UsageError
from mmeval.media import PartKind
from mmeval.model_backends.openai.batches import ChatBatches
from mmeval.model_backends.openai.chat import ChatEndpoint
from mmeval.model_backends.openai.images import ImagesEndpoint
from mmeval.model_backends.openai.meshes import MeshesEndpoint
from mmeval.model_backends.openai.responses.background import BackgroundEndpoint
from mmeval.model_backends.openai.responses.endpoint import ResponsesEndpoint
from mmeval.model_backends.openai.settings import (
    KEY_NAME,
    EndpointChoice,
    ImageDetail,
    ImagesDialect,
    MaxTokensField,
    OpenAISettings,
    ResponseFormat,
    State,
    VideosDialect,
    capabilities_of,
    openai_replicas,
    openai_url,
    with_reply_formats,
)
from mmeval.model_backends.openai.speech import SoundsEndpoint, SpeechEndpoint
from mmeval.model_backends.openai.videos import SyncVideosEndpoint, VideosEndpoint
from mmeval.model_backends.wire.backend import Endpoint, WireBackend
from mmeval.model_backends.wire.connection import (
    checked_choice,
    checked_header_word,
    checked_positive,
    read_api_key,
)
from mmeval.model_backends.wire.formats import (
    DEFAULT_PICTURES,
    DEFAULT_SOUNDS,
    PICTURES,
    SOUNDS,
    Formats,
    checked_formats,
)
from mmeval.model_backends.wire.jobs import JobEndpoint
from mmeval.model_backends.wire.user_fields import (
    checked_extra_body,
    checked_fields,
    checked_hosts,
    checked_key_header,
    checked_query,
    read_headers,
)
from mmeval.records import Request

_ANTHROPIC = "api.anthropic.com"
_ENDPOINT_FOR: Mapping[tuple[PartKind, ...], EndpointChoice] = {
    ("image",): "images",
    ("audio",): "speech",
    ("video",): "videos",
    ("3d",): "meshes",
}
"""The endpoint that ``auto`` chooses for requests of only one kind.

All other requests go to the chat endpoint.
"""

log = logging.getLogger(__name__)


class OpenAIBackend(WireBackend):
    """A model behind a server with the OpenAI interface.

    :param model: the model's name at the server.
    :param base_url: the server's address, such as ``http://localhost:8000/v1``. The
        default is ``OPENAI_BASE_URL``, else the official address.
    :param replicas: more addresses of the same model, separated by ``+``. A call goes
        to the least busy address.
    :param api_key_file: a file that contains the key. The default is the variable
        ``OPENAI_API_KEY``. Local servers may need no key.
    :param revision: the weights that the server runs, if you know them. They are not
        sent, but are part of the identity.
    :param outputs: output kinds of the model, such as ``text+image``. By default, they
        are those of the endpoint.
    :param inputs: input kinds of the model; ``video`` is sent in vLLM's format.
    :param max_images: the maximum number of pictures in a request. 0 means any number.
    :param endpoint: ``chat``, ``responses`` (text and pictures of OpenAI's models in
        one answer), ``images``, ``videos``, ``meshes`` (3D models of SGLang),
        ``speech``, ``audio`` (sounds and music of vLLM-Omni), or ``auto``: images,
        videos, meshes or speech for requests of only one picture, video, 3D model or
        sound, chat for all others.
    :param timeout: the maximum number of seconds for a complete call.
    :param send_seed: send a seed. Chats and ``audio`` send it unless this is false;
        pictures, videos and speech only if it is true.
    :param max_tokens_field: ``max_completion_tokens`` for reasoning models of the
        official server.
    :param image_detail: ``auto``, ``low`` or ``high``: the resolution at which a chat
        model reads the pictures of a prompt. The resolution changes the cost of
        pictures. None means the server's default.
    :param response_format: ``json_object`` for chat replies that are one JSON object. A
        server may refuse it if the prompt does not mention JSON.
    :param image_response_format: the format that is requested from the image endpoints,
        such as ``b64_json`` for servers that return links.
    :param max_reply_bytes: maximum size of a reply. Larger replies are errors.
    :param stream: request a stream. A stream that was not requested is read too.
    :param extra_body: fields that are merged into the body. Null removes a field.
    :param extra_headers_file: a JSON file of headers. Their values are secrets.
    :param api_key_header: the header for the bare key, instead of ``Authorization``.
    :param query: a query that is added to every address, such as
        ``api-version=2025-04-01``.
    :param image_formats: formats of pictures that are sent unchanged. Others are
        converted to PNG.
    :param audio_formats: formats of sounds that are sent unchanged. Others are
        converted to WAV.
    :param fetch_links: hosts, separated by ``+``. Links to them in answers are fetched.
    :param image_tool: fields of the tool with which ``responses`` draws, such as
        ``{"model": "gpt-image-1.5", "quality": "high"}``.
    :param state: how earlier answers are sent back to ``responses``: ``items`` sends
        them completely, and ``previous`` sends the id under which the server keeps
        them.
    :param poll_seconds: seconds between two polls of a video, or of an answer that the
        server creates in the background.
    :param images_dialect: ``openrouter`` for OpenRouter's format of picture requests.
    :param videos_dialect: ``openrouter`` for OpenRouter's format of video requests.
    :param videos_sync: request a video with one call (for vLLM-Omni), instead of a job
        that is polled.
    :param batch: send chat requests to the server's Batch API, which answers within a
        day at half the price.

    Raises UsageError for invalid arguments, MissingError without a key for a server
    that is not local, and MissingExtraError for batches without the package openai.
    """

    takes_key: ClassVar[bool] = True
    """True if the server may require a key."""

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
        image_tool: Mapping[str, Any] | None = None,
        state: State = "items",
        videos_dialect: VideosDialect = "openai",
        videos_sync: bool = False,
        poll_seconds: float = 5,
        batch: bool = False,
    ) -> None:
        if not str(model).strip():
            raise UsageError("the model's name is missing; set model=NAME")
        if videos_sync and videos_dialect == "openrouter":
            raise UsageError(
                "videos_sync=true works only with vLLM-Omni; leave out videos_dialect",
                name="videos_sync",
            )
        if send_seed is not None and not isinstance(send_seed, bool):
            raise UsageError(f"send_seed={send_seed!r} must be true or false")
        if batch and stream:
            raise UsageError(
                "batch=true does not work with streams; leave out stream",
                name="stream",
            )
        if batch and fetch_links:
            raise UsageError(
                "batch=true does not fetch links; leave out fetch_links",
                name="fetch_links",
            )
        if batch and endpoint not in ("chat", "auto"):
            raise UsageError(
                f"batch=true works only for chat requests, not endpoint={endpoint}",
                name="batch",
            )
        address, replica_urls = openai_url(str(base_url)), openai_replicas(replicas)
        if batch and replica_urls:
            raise UsageError(
                "batch=true works with only one server; leave out replicas",
                name="replicas",
            )
        chosen: EndpointChoice = checked_choice("endpoint", endpoint, EndpointChoice)
        checked_state: State = checked_choice("state", state, State)
        if chosen != "responses" and (image_tool or checked_state != "items"):
            name = "image_tool" if image_tool else "state"
            raise UsageError(
                f"{name} works only with endpoint=responses, not with "
                f"endpoint={chosen}",
                name=name,
            )
        if checked_state == "previous" and replica_urls:
            raise UsageError(
                "state=previous works only with the server that keeps the answers; "
                "leave out replicas",
                name="replicas",
            )
        formats = Formats(
            tuple(checked_formats("image_formats", image_formats, PICTURES)),
            tuple(checked_formats("audio_formats", audio_formats, SOUNDS)),
        )
        fields = checked_extra_body(extra_body)
        # OpenRouter accepts more pictures in addition to the first frame
        is_openrouter = chosen == "videos" and videos_dialect == "openrouter"
        if chosen in ("videos", "meshes") and not is_openrouter:
            max_images = 1
        self._settings = OpenAISettings(
            model=str(model),
            base_url=address,
            replicas=replica_urls,
            revision=str(revision),
            endpoint=chosen,
            capabilities=with_reply_formats(
                capabilities_of(chosen, inputs, outputs, max_images, formats),
                chosen,
                given=(*fields, *(["response_format"] if response_format else [])),
            ),
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
            organization=checked_header_word("organization", organization),
            project=checked_header_word("project", project),
            api_key=read_api_key(
                str(api_key_file), (address, *replica_urls), (KEY_NAME,)
            )
            if self.takes_key
            else "",
            key_name=KEY_NAME,
            stream=bool(stream),
            extra_body=fields,
            extra_headers=read_headers(str(extra_headers_file)),
            api_key_header=checked_key_header(str(api_key_header)),
            query=checked_query(str(query), KEY_NAME),
            formats=formats,
            fetch_links=checked_hosts(str(fetch_links)),
            images_dialect=checked_choice(
                "images_dialect", images_dialect, ImagesDialect
            ),
            image_tool=checked_fields("image_tool", image_tool),
            state=checked_state,
            poll_seconds=checked_positive("poll_seconds", poll_seconds),
            videos_dialect=checked_choice(
                "videos_dialect", videos_dialect, VideosDialect
            ),
            videos_sync=bool(videos_sync),
        )
        if self._settings.host == _ANTHROPIC and send_seed is not False:
            log.warning(
                "%s ignores the seed, so its answers cannot be repeated; set "
                "send_seed=false to leave it out",
                _ANTHROPIC,
            )
        super().__init__(self._settings, self._settings.poll_seconds)
        self._chat = ChatEndpoint(self._settings)
        self._endpoints = _endpoints(self._settings, self._chat)
        self.batches: ChatBatches | None = None
        """Sends requests in batches, or is None without the argument ``batch``."""
        if batch:
            is_chat = lambda request: self._endpoint(request) is self._chat  # noqa: E731
            self.batches = ChatBatches(
                self._settings, self._encode, self._chat.decode, is_chat
            )

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._settings.identity()

    def _endpoint(self, request: Request) -> Endpoint | JobEndpoint:
        choice: str = self._settings.endpoint
        if choice == "auto":
            choice = _ENDPOINT_FOR.get(request.wants, "chat")
        return self._endpoints[choice]

    def __repr__(self) -> str:
        return (
            f"OpenAIBackend(model={self._settings.model!r}, "
            f"base_url={self._settings.base_url!r})"
        )


def _endpoints(
    settings: OpenAISettings, chat: ChatEndpoint
) -> Mapping[str, Endpoint | JobEndpoint]:
    """Maps each value of the argument ``endpoint`` to the endpoint that it selects."""
    responses: Endpoint | JobEndpoint = ResponsesEndpoint(settings)
    if settings.in_background:
        responses = BackgroundEndpoint(settings)
    videos: Endpoint | JobEndpoint = VideosEndpoint(settings)
    if settings.videos_sync:
        videos = SyncVideosEndpoint(settings)
    return {
        "chat": chat,
        "responses": responses,
        "images": ImagesEndpoint(settings),
        "videos": videos,
        "meshes": MeshesEndpoint(settings),
        "speech": SpeechEndpoint(settings),
        "audio": SoundsEndpoint(settings),
    }
