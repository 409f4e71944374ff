"""Responses that the server creates in the background.

Such a response is a job, and the last poll of the job returns the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.model_backends.openai.responses.endpoint import (
    PATH,
    PENDING,
    ResponsesEndpoint,
    is_response,
    status_of,
)
from mmeval.model_backends.openai.responses.stream import streamed_state
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.wire.jobs import JobEndpoint
from mmeval.model_backends.wire.replies.events import is_stream
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.records import Request, Response


class BackgroundEndpoint(JobEndpoint):
    """Encodes requests for ``responses``, and reads its jobs."""

    path = PATH
    poll_timeout = 300.0  # the last reply is large, because it contains the pictures

    def __init__(self, settings: OpenAISettings) -> None:
        self._responses = ResponsesEndpoint(settings)

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request. Raises CallError for unsupported parts."""
        return self._responses.encode(request)

    def job(self, http_reply: HttpReply) -> Mapping[str, Any]:
        body = http_reply.body
        if not body.startswith(b"{") and is_stream(body, http_reply.content_type):
            return streamed_state(body, http_reply.cut_reason)
        return super().job(http_reply)

    def has_ended(self, job: Mapping[str, Any]) -> bool:
        # a failed response may contain a partial answer, so it is decoded like others
        return is_response(job) and status_of(job) not in PENDING

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        return self._responses.decode(http_reply, request, links)
