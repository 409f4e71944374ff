"""The endpoint ``videos``, which creates a video from text and a picture in a job.

A job takes minutes. OpenAI, SGLang and vLLM-Omni accept a form, OpenRouter accepts
JSON. ``videos/sync`` of vLLM-Omni replies with the video itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from mmeval.media import Interleaved, Media, Part, PartKind, suffix_for
from mmeval.model_backends.openai import parameters
from mmeval.model_backends.openai.images import (
    FormFile,
    multipart,
    prompt_of,
    references,
)
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.jobs import JobEndpoint
from mmeval.model_backends.wire.media import sendable
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.replies.reply import json_object, served, usage
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import form_fields, merged
from mmeval.records import Request, Response

VIDEOS = "videos"
SYNC = "videos/sync"

_JOB_FIELDS = frozenset(
    (
        "error",
        "file_path",
        "id",
        "model",
        "polling_url",
        "prompt",
        "status",
        "unsigned_urls",
        "url",
        "urls",
        "usage",
    )
)


class FileJobEndpoint(JobEndpoint):
    """An endpoint with jobs that produce one file."""

    def result_location(self, job: Mapping[str, Any], path: str) -> str:
        del job  # unused, because most servers keep the file at this path
        return f"{path}/content"

    def completed(self, response: Response, job: Mapping[str, Any]) -> Response:
        reader = AnswerReader()
        reader.unknown_fields(job, _JOB_FIELDS)
        data = dict(job)
        return replace(
            response,
            usage=usage(data),
            served=served(data),
            warnings=(*reader.warnings, *response.warnings),
        )


class VideosEndpoint(FileJobEndpoint):
    """Encodes requests for ``videos``, and decodes the results of its jobs.

    A seed is sent only with ``send_seed=true``, because the official server refuses the
    field.
    """

    path = VIDEOS

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises CallError if the input contains other kinds than text and pictures, or
        more pictures than the server accepts.
        """
        settings = self._settings
        if settings.videos_dialect != "openrouter":
            return _form_request(VIDEOS, request, settings)
        prompt, images = prompt_of(request, VIDEOS)
        options = request.params.options
        fields: dict[str, Any] = {"model": settings.model, "prompt": prompt}
        if "video.seconds" in options:
            seconds = options["video.seconds"]
            # an option of the command line may be a string
            text = str(seconds)
            fields["duration"] = int(text) if text.isdecimal() else seconds
        if "video.size" in options:
            fields["size"] = str(options["video.size"])
        if settings.seed_all:
            fields["seed"] = request.seed
        pictures = references(images, settings.formats)
        if pictures:
            fields["frame_images"] = [{**pictures[0], "frame_type": "first_frame"}]
        if pictures[1:]:
            fields["input_references"] = pictures[1:]
        return HttpRequest(
            VIDEOS, json.dumps(merged(fields, settings.extra_body)).encode()
        )

    def result_location(self, job: Mapping[str, Any], path: str) -> str:
        for name in ("unsigned_urls", "urls"):
            urls = job.get(name)
            if isinstance(urls, list) and urls and isinstance(urls[0], str):
                return urls[0]
        return super().result_location(job, path)

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Returns the video of a job.

        Raises CallError ``bad_reply`` if there is no video.
        """
        del links  # unused, because the result is the video itself
        has_fps = self._settings.videos_dialect != "openrouter"
        unsent = () if has_fps else ("video.fps",)
        return answer_of(http_reply, "video", request, unsent)


class SyncVideosEndpoint:
    """Encodes requests for vLLM-Omni's ``videos/sync``, and decodes its replies."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises the errors of ``VideosEndpoint.encode``.
        """
        return _form_request(SYNC, request, self._settings)

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Returns the video of a reply.

        Raises CallError ``bad_reply`` if there is no video.
        """
        del links  # unused, because the reply is the video itself
        return answer_of(http_reply, "video", request)


def _form_request(
    path: str,
    request: Request,
    settings: OpenAISettings,
) -> HttpRequest:
    """Encodes a request as a form, because vLLM-Omni accepts only forms."""
    prompt, images = prompt_of(request, VIDEOS)
    if len(images) > 1:
        raise CallError(
            "unsupported",
            f"a request for a video may contain at most 1 picture, not {len(images)}",
        )
    fields: dict[str, Any] = {"model": settings.model, "prompt": prompt}
    for name in ("seconds", "size", "fps"):
        if f"video.{name}" in request.params.options:
            fields[name] = str(request.params.options[f"video.{name}"])
    if settings.seed_all:
        fields["seed"] = request.seed
    fields = merged(fields, settings.extra_body)
    files = []
    for image in images:
        sent = sendable(Part("image", media=image), settings.formats)
        name = f"image1{suffix_for(sent.mime)}"
        files.append(FormFile("input_reference", name, sent.mime, sent.read()))
    return multipart(path, form_fields(fields), files, request.key)


def answer_of(
    http_reply: HttpReply,
    kind: PartKind,
    request: Request,
    unsent: Collection[str] = (),
) -> Response:
    """Returns the answer in a reply that consists of the bytes of a medium.

    ``unsent`` are options without a field. Raises CallError for any other reply.
    """
    body = http_reply.body
    if body.startswith(b"{"):
        json_object(body)  # raises the reported error
    media = Media.from_bytes(body)
    if media.kind != kind:
        raise bad_reply(
            f"the server's answer is {len(body):,} bytes of {media.mime}, not {kind}"
        )
    warnings = parameters.unsent(
        request.params, f"the endpoint for {kind}", sampled=False, options=unsent
    )
    return Response(
        output=Interleaved((Part(kind, media=media),)),
        latency=http_reply.latency,
        warnings=warnings,
    )
