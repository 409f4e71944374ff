"""The transport: a pooled HTTP session for POST, bounded replies, no retries."""

from __future__ import annotations

import asyncio
import io
import os
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval import __version__
from mmeval.model_backends.openai.addresses import Address, Addresses
from mmeval.model_backends.openai.failures import CallError, bad_reply, without_key
from mmeval.model_backends.openai.settings import Settings

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT = 30.0
"""Seconds to open a connection, so that a missing machine is found long before a slow
answer times out."""

DNS_SECONDS = 300
LARGE_BODY = 2**20
"""Bytes from which a body is sent in pieces, so that other calls go on in between, and
a reply waits for room."""
HELD_BYTES = 2**29
"""Of the large replies that are read and decoded at once; one is always let through,
whatever its size."""


class Outgoing(NamedTuple):
    """An encoded request: the path below ``base_url`` and the body."""

    path: str
    body: bytes
    content_type: str = "application/json"


class Received(NamedTuple):
    """A received reply. ``latency`` is in seconds, from sending to the last byte.
    ``held`` is the room that its body takes until it is released."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float
    held: int = 0


class Room:
    """Room for the bodies of large replies, in the order in which they ask for it."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    async def take(self, size: int) -> None:
        async with self._turn:
            while self.held and self.held + size > self.limit:
                self._freed.clear()
                await self._freed.wait()
            self.held += size

    def free(self, size: int) -> None:
        self.held -= size
        self._freed.set()


class Transport:
    """Sends bodies to a model, at one of its addresses."""

    def __init__(self, settings: Settings) -> None:
        import aiohttp

        self._aiohttp: Any = aiohttp
        self._settings = settings
        self._addresses = Addresses((settings.base_url, *settings.replicas))
        self._session: aiohttp.ClientSession | None = None
        self._room = Room(HELD_BYTES)

    def move_to(self, base_url: str) -> None:
        """Send what follows to another address."""
        self._addresses = Addresses((base_url,))

    async def post(self, outgoing: Outgoing, key: str = "") -> Received:
        """The reply with any status, of the first address that can be reached. Raises
        CallError without a whole reply. A server that knows idempotency keys answers a
        second call with the same ``key`` by the reply to the first."""
        while True:
            addresses = self._addresses
            address = addresses.next()
            address.calls += 1
            try:
                received = await self._post_to(address, outgoing, key)
            except CallError as error:
                if error.kind != "unreachable" or not addresses.left_out(
                    address, error.text
                ):
                    raise
            else:
                addresses.answered(address, received.status)
                return received
            finally:
                address.calls -= 1

    async def _post_to(
        self, address: Address, outgoing: Outgoing, key: str
    ) -> Received:
        session = self._session or self._open()
        body: Any = (
            outgoing.body
            if len(outgoing.body) < LARGE_BODY
            else io.BytesIO(outgoing.body)
        )
        headers = {"Idempotency-Key": key} if key else {}
        if outgoing.content_type != "application/json":
            headers["Content-Type"] = outgoing.content_type
        started = time.perf_counter()
        try:
            response = await session.post(
                address.url(outgoing.path),
                data=body,
                headers=headers,
                allow_redirects=False,
                proxy=address.proxy,
            )
            received = await self._read(response)
        except (
            self._aiohttp.ClientConnectorError,
            self._aiohttp.ConnectionTimeoutError,
        ) as error:
            raise self._unreached(error, address) from error
        except TimeoutError:
            raise CallError(
                "timeout", f"no whole answer within {self._settings.timeout:g} s"
            ) from None
        except (self._aiohttp.ClientError, OSError) as error:
            raise self._lost(error, address) from error
        latency = time.perf_counter() - started
        held = len(received) if len(received) >= LARGE_BODY else 0
        # the server may echo its request
        clean = without_key(received, self._settings.api_key)
        return Received(response.status, response.headers, clean, latency, held)

    def release(self, received: Received) -> None:
        """State that a reply's body is not needed any more, which makes room for
        others."""
        if received.held:
            self._room.free(received.held)

    async def close(self) -> None:
        """Close every connection. A later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        http = self._aiohttp
        timeout = self._settings.timeout
        session: aiohttp.ClientSession = http.ClientSession(
            connector=http.TCPConnector(limit=0, ttl_dns_cache=DNS_SECONDS),
            cookie_jar=http.DummyCookieJar(),
            headers=_headers(self._settings),
            timeout=http.ClientTimeout(
                total=timeout, sock_connect=min(CONNECT_TIMEOUT, timeout)
            ),
        )
        # both belong to an event loop
        self._session, self._room = (session, Room(HELD_BYTES))
        return session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body; a connection that is not read to the end is closed, not
        pooled."""
        length = (
            None if "Content-Encoding" in response.headers else response.content_length
        )
        if length is not None and length < min(
            LARGE_BODY, self._settings.max_reply_bytes + 1
        ):
            # it closes itself on failure; a context manager costs 4 % of a small call
            return await response.read()
        async with response:
            return await self._read_pieces(response, length)

    async def _read_pieces(
        self, response: aiohttp.ClientResponse, length: int | None
    ) -> bytes:
        """A body that is large, or whose length is not known. A large one waits for
        room, and keeps what it takes."""
        most = self._settings.max_reply_bytes
        pieces, total, taken = [], 0, 0
        try:
            if length is not None and length > most:
                raise self._too_large()
            async for piece in response.content.iter_any():
                total += len(piece)
                if total > most:
                    raise self._too_large()
                pieces.append(piece)
                if not taken and total >= LARGE_BODY:
                    wanted = length or most
                    await self._room.take(wanted)
                    taken = wanted
            return b"".join(pieces)
        except BaseException:
            response.close()
            total = 0
            raise
        finally:
            if taken:
                self._room.free(taken - total)

    def _too_large(self) -> CallError:
        limit = self._settings.max_reply_bytes
        return bad_reply(
            f"the reply is larger than {limit} bytes; raise max_reply_bytes if that "
            "is meant"
        )

    def _lost(self, error: Exception, address: Address) -> CallError:
        said = str(error) or type(error).__name__
        if isinstance(error, self._aiohttp.ClientResponseError):
            return bad_reply(f"the server's reply is no sound HTTP ({said})")
        return CallError(
            "connection", f"the connection to {address.name} was lost ({said})"
        )

    def _unreached(self, error: Exception, address: Address) -> CallError:
        """The error when nothing was sent: unknown host, no server, untrusted
        certificate."""
        said = str(error).replace(" ssl:default", "")  # aiohttp's name for its default
        where = address.name
        if isinstance(
            error, ssl.CertificateError | self._aiohttp.ClientConnectorCertificateError
        ):
            return CallError(
                "bad_request", f"the server's certificate is not trusted ({said})"
            )
        # its message repeats the address
        if isinstance(error, self._aiohttp.ClientConnectorError):
            where, cause = f"{error.host}:{error.port}", error.os_error
            said = (
                os.strerror(cause.errno)
                if (cause.errno or 0) > 0
                else cause.strerror or str(cause)
            )
        elif isinstance(error, self._aiohttp.ConnectionTimeoutError):
            said = (
                "no connection within "
                f"{min(CONNECT_TIMEOUT, self._settings.timeout):g} s"
            )
        return CallError("unreachable", f"{where} cannot be reached ({said})")


def _headers(settings: Settings) -> dict[str, str]:
    """The headers of requests; ``identity`` keeps small replies from becoming huge."""
    headers = {
        "User-Agent": f"mmeval/{__version__}",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "OpenAI-Organization": settings.organization,
        "OpenAI-Project": settings.project,
        "Authorization": f"Bearer {settings.api_key}" if settings.api_key else "",
    }
    return {name: value for name, value in headers.items() if value}
