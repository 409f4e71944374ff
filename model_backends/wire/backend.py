"""The base class of backends that send requests to a server and read its replies."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from mmeval.backend import Capabilities
from mmeval.errors import MmevalError, StorageError, did_you_mean
from mmeval.model_backends.wire.connection import Connection
from mmeval.model_backends.wire.failures import CallError, failed
from mmeval.model_backends.wire.formats import notes
from mmeval.model_backends.wire.jobs import JobEndpoint, Jobs
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest, Transport
from mmeval.records import Request, Response

OFFLOAD_BYTES = 2**21
"""Size in bytes above which media and replies are encoded and decoded in a thread.

Such an operation takes a few milliseconds.
"""
NOTICE_SECONDS = 60.0
"""Seconds after which the first long call is logged."""

log = logging.getLogger(__name__)


class Endpoint(Protocol):
    """An endpoint, which encodes requests and decodes replies.

    Both methods raise CallError.
    """

    def encode(self, request: Request) -> HttpRequest: ...

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response: ...


class WireBackend(ABC):
    """The base class of backends that send requests to a server."""

    jobs_outlast: ClassVar[bool] = True
    """True if the server continues its jobs while it cannot be reached."""

    def __init__(self, connection: Connection, poll_seconds: float = 5.0) -> None:
        self._connection = connection
        self._transport = Transport(connection)
        self._jobs = Jobs(
            self._transport,
            connection,
            poll_seconds=poll_seconds,
            outlasts=self.jobs_outlast,
        )
        self._calls: dict[object, float] = {}
        """The start time of each active call, oldest first."""
        self._wait_timer: asyncio.TimerHandle | None = None
        self._has_waited = False
        self.watch: Callable[[bytes, bytes], None] | None = None
        """A function for ``mmeval try backend``.

        It is called with the body of each request and the body of the reply.
        """

    @abstractmethod
    def _endpoint(self, request: Request) -> Endpoint | JobEndpoint:
        """Returns the endpoint of a request."""

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """The facts that identify the model.

        Answers of backends with equal identities may be reused.
        """

    def _encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises CallError for content or options that cannot be sent. Raises ContentError
        for a medium that cannot be read.
        """
        options = self.capabilities.options or ()
        for name in request.params.options:
            if name not in options:
                names = ", ".join(sorted(options))
                near = did_you_mean(name, options) or f"; known: {names}"
                backend = self.identity["backend"]
                raise CallError(
                    "bad_request", f"the backend {backend} has no option {name!r}{near}"
                )
        for kind in request.wants:
            if kind not in self.capabilities.outputs:
                raise CallError(
                    "unsupported",
                    f"{kind} is not a declared output of this model; declare it with "
                    "the argument outputs",
                )
        encoded = self._endpoint(request).encode(request)
        conversions = tuple(notes(request, self._connection.formats))
        if not conversions:
            return encoded
        return encoded._replace(notes=(*encoded.notes, *conversions))

    @property
    def capabilities(self) -> Capabilities:
        return self._connection.capabilities

    @property
    def provenance(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {"host": self._connection.host}
        if self._connection.replicas:
            facts["replicas"] = list(self._connection.replicas)
        facts["aiohttp"] = importlib.metadata.version("aiohttp")
        return facts

    async def generate(self, request: Request) -> Response:
        """Returns the server's answer.

        Errors are returned in the response. The kind of an error determines whether the
        caller retries the call.
        """
        latency = 0.0
        call = object()
        loop = asyncio.get_running_loop()
        self._calls[call] = loop.time()
        # one timer serves all calls, because a timer per call would take longer than
        # the rest of a small call
        if self._wait_timer is None and not self._has_waited:
            self._wait_timer = loop.call_later(NOTICE_SECONDS, self._log_long_wait)
        try:
            endpoint = self._endpoint(request)
            if isinstance(endpoint, JobEndpoint):
                return await self._jobs.answer(
                    endpoint,
                    request,
                    encode=partial(self._encoded, request),
                    read=partial(self._read, endpoint, request=request),
                )
            encoded = await self._encoded(request)
            http_reply = await self._transport.post(encoded, request.key)
            latency = http_reply.latency
            if self.watch is not None:
                self.watch(encoded.body, http_reply.body)
            try:
                if not 200 <= http_reply.status < 300:
                    raise self._transport.error(http_reply)
                response = await self._read(endpoint, http_reply, request)
            finally:
                self._transport.release(http_reply)
            if encoded.notes:
                warnings = (*encoded.notes, *response.warnings)
                response = replace(response, warnings=warnings)
            return response
        except StorageError:
            # the note of a job cannot be written: this is a failure of the disk, not
            # of the call
            raise
        except MmevalError as error:
            return failed(error, self._connection.secrets, latency)
        finally:
            del self._calls[call]

    async def _encoded(self, request: Request) -> HttpRequest:
        size = 0
        for message in request.messages:
            for part in message.content.parts:
                if part.media is not None:
                    size += part.media.size
        if size > OFFLOAD_BYTES:
            return await asyncio.to_thread(self._encode, request)
        return self._encode(request)

    async def _read(
        self, endpoint: Endpoint | JobEndpoint, http_reply: HttpReply, request: Request
    ) -> Response:
        """Decodes a reply. If it contains links, fetches them and decodes it again."""
        hosts = self._connection.fetch_links
        if not hosts:
            return await _decoded(endpoint, http_reply, request)
        links = Links(hosts, self._transport.base_url)
        response = await _decoded(endpoint, http_reply, request, links)
        if not links.missing:
            return response
        await self._transport.fetch(links)
        return await _decoded(endpoint, http_reply, request, links)

    def _log_long_wait(self) -> None:
        """Logs once that a call is taking a long time, and states its time limit."""
        self._wait_timer = None
        if not self._calls or self._has_waited:
            return
        loop = asyncio.get_running_loop()
        due = next(iter(self._calls.values())) + NOTICE_SECONDS
        if loop.time() < due:
            self._wait_timer = loop.call_at(due, self._log_long_wait)
            return
        self._has_waited = True
        log.warning(
            "a call has waited %.0f s for %s; its limit is %g s (timeout)",
            NOTICE_SECONDS,
            self._connection.address,
            self._connection.timeout,
        )

    def keep_notes_in(self, folder: Path) -> None:
        """Keeps the notes about jobs in a folder (see ``mmeval.backend.contract``)."""
        self._jobs.notes.keep_in(folder)

    async def close(self) -> None:
        self._jobs.close()
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None
        await self._transport.close()


async def _decoded(
    endpoint: Endpoint | JobEndpoint,
    http_reply: HttpReply,
    request: Request,
    links: Links | None = None,
) -> Response:
    if len(http_reply.body) <= OFFLOAD_BYTES:
        return endpoint.decode(http_reply, request, links)
    decoding = asyncio.ensure_future(
        asyncio.to_thread(endpoint.decode, http_reply, request, links)
    )
    # a cancelled run keeps an answer that has already arrived
    with contextlib.suppress(asyncio.CancelledError):
        return await asyncio.shield(decoding)
    return await decoding
