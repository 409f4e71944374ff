"""The transport: a pooled HTTP session, bounded replies, no retries."""

from __future__ import annotations

import asyncio
import io
import os
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from mmeval import __version__
from mmeval.media import Media
from mmeval.model_backends.wire.addresses import (
    Address,
    Addresses,
    environment_proxy,
    is_same_server,
)
from mmeval.model_backends.wire.connection import Connection
from mmeval.model_backends.wire.failures import (
    CallError,
    bad_reply,
    without_secrets,
)
from mmeval.model_backends.wire.replies.events import EVENT_STREAM, has_ended
from mmeval.model_backends.wire.replies.links import Links, is_named
from mmeval.model_backends.wire.replies.server_errors import http_error

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
SILENCE_SECONDS = 300.0
"""A stream that sends nothing for so long has ended, or sooner by its timeout."""
LAST_SECONDS = 1.0
"""How long the end of a connection is waited for after the last event of a stream: a
connection that ends is used again."""
STREAM_ROOM = 2**24
"""Of a large stream, the room that it waits for; what exceeds it is counted only."""
_TAIL = 64
"""Bytes at the end of a stream in which its last event is looked for."""
MAX_REDIRECTS = 5


class HttpRequest(NamedTuple):
    """An encoded request: the path below ``base_url`` and the body. ``notes`` state
    what is not sent as it is."""

    path: str
    body: bytes
    content_type: str = "application/json"
    notes: tuple[str, ...] = ()


class HttpReply(NamedTuple):
    """A received reply. ``latency`` is in seconds, from sending to the last byte.
    ``held`` is the room that its body takes until it is released, ``lost`` why the end
    of a stream did not come, ``base_url`` the address that has replied."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float
    held: int = 0
    lost: str = ""
    base_url: str = ""

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")


class ReplyMemory:
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

    def __init__(self, connection: Connection) -> None:
        import aiohttp

        self._aiohttp: Any = aiohttp
        self._connection = connection
        self._addresses = Addresses(
            (connection.base_url, *connection.replicas), connection.query
        )
        self.base_url = connection.base_url
        self._secrets = connection.secrets
        self._session: aiohttp.ClientSession | None = None
        self._room = ReplyMemory(HELD_BYTES)

    def move_to(self, base_url: str) -> None:
        """Send what follows to another address."""
        self._addresses = Addresses((base_url,), self._connection.query)
        self.base_url = base_url

    async def post(self, outgoing: HttpRequest, key: str = "") -> HttpReply:
        """The reply with any status, of the first address that can be reached. Raises
        CallError without a whole reply. A server that knows idempotency keys answers a
        second call with the same ``key`` by the reply to the first."""
        headers = {}
        if key:
            headers["Idempotency-Key"] = key
        if outgoing.content_type != "application/json":
            headers["Content-Type"] = outgoing.content_type
        while True:
            body: Any = outgoing.body
            if len(outgoing.body) >= LARGE_BODY:
                body = io.BytesIO(outgoing.body)
            addresses = self._addresses
            address = addresses.next()
            address.calls += 1
            try:
                received = await self._exchange(
                    "POST", address, outgoing.path, body, headers
                )
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

    async def get(self, place: str, base_url: str) -> HttpReply:
        """What is at a URL, or at a path below ``base_url``, with any status, also
        after redirects. The key and the user's headers go to the server at ``base_url``
        alone. Raises CallError without a whole reply."""
        address = self._addresses.at(base_url)
        for _ in range(MAX_REDIRECTS + 1):
            url = str(address.url(place))
            if not url.startswith(("http://", "https://")):
                raise bad_reply(f"the server gives no http address ({url[:80]!r})")
            if is_same_server(url, address.base_url):
                received = await self._exchange("GET", address, place)
            else:
                async with self._bare_session() as session:
                    received = await self._exchange(
                        "GET", Address(url), url, session=session
                    )
            if not 300 <= received.status < 400:
                return received
            self.release(received)
            place = urljoin(url, received.headers.get("Location", ""))
        raise bad_reply(f"more than {MAX_REDIRECTS} redirects")

    def error(self, received: HttpReply) -> CallError:
        """The error that a reply is whose status is not one of success."""
        return http_error(
            received.status,
            received.headers,
            received.body,
            keyed=bool(self._connection.api_key),
            key_name=self._connection.key_name,
        )

    def knows(self, base_url: str) -> bool:
        """Whether it is one of the model's addresses."""
        return self._addresses.at(base_url).base_url == base_url

    async def _exchange(
        self,
        method: str,
        address: Address,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        session: aiohttp.ClientSession | None = None,
    ) -> HttpReply:
        session = session or self._session or self._open()
        started = time.perf_counter()
        try:
            response = await session.request(
                method,
                address.url(path),
                data=body,
                headers=headers,
                allow_redirects=False,
                proxy=address.proxy,
            )
            lost = ""
            if response.headers.get("Content-Type", "").startswith(EVENT_STREAM):
                received, lost = await self._read_stream(response)
            else:
                received = await self._read(response)
        except (
            self._aiohttp.ClientConnectorError,
            self._aiohttp.ConnectionTimeoutError,
        ) as error:
            raise self._unreached(error, address) from error
        except TimeoutError:
            raise CallError(
                "timeout", f"no whole answer within {self._connection.timeout:g} s"
            ) from None
        except (self._aiohttp.ClientError, OSError) as error:
            said = str(error) or type(error).__name__
            if isinstance(error, self._aiohttp.ClientResponseError):
                failure = bad_reply(f"the server's reply is no sound HTTP ({said})")
            else:
                failure = CallError(
                    "connection", f"the connection to {address.name} was lost ({said})"
                )
            raise failure from error
        latency = time.perf_counter() - started
        held = len(received) if len(received) >= LARGE_BODY else 0
        # the server may echo its request
        clean = without_secrets(received, self._secrets)
        return HttpReply(
            response.status,
            response.headers,
            clean,
            latency,
            held,
            lost,
            address.base_url,
        )

    def release(self, received: HttpReply) -> None:
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
        connection = self._connection
        timeout = connection.timeout
        headers = {
            "User-Agent": f"mmeval/{__version__}",
            "Content-Type": "application/json",
            # small replies do not become huge ones
            "Accept-Encoding": "identity",
            **connection.own_headers,
        }
        if connection.api_key and connection.api_key_header:
            headers[connection.api_key_header] = connection.api_key
        elif connection.api_key:
            headers["Authorization"] = f"Bearer {connection.api_key}"
        # the user's own take the place of others, however they are written
        own_names = {name.lower() for name in connection.extra_headers}
        for name, value in list(headers.items()):
            if not value or name.lower() in own_names:
                del headers[name]
        headers |= connection.extra_headers
        session: aiohttp.ClientSession = http.ClientSession(
            connector=http.TCPConnector(limit=0, ttl_dns_cache=DNS_SECONDS),
            cookie_jar=http.DummyCookieJar(),
            headers=headers,
            timeout=http.ClientTimeout(
                total=timeout, sock_connect=min(CONNECT_TIMEOUT, timeout)
            ),
        )
        # both belong to an event loop
        self._session, self._room = session, ReplyMemory(HELD_BYTES)
        return session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body; a connection that is not read to the end is closed, not
        pooled."""
        length = response.content_length
        if "Content-Encoding" in response.headers:
            length = None
        small = min(LARGE_BODY, self._connection.max_reply_bytes + 1)
        if length is not None and length < small:
            # it closes itself on failure; a context manager costs 4 % of a small call
            return await response.read()
        async with response:
            return await self._read_pieces(response, length)

    async def _read_pieces(
        self, response: aiohttp.ClientResponse, length: int | None
    ) -> bytes:
        """A body that is large, or whose length is not known. A large one waits for
        room, and keeps what it takes."""
        most = self._connection.max_reply_bytes
        pieces, total, taken = [], 0, 0
        kept = 0  # bytes of room that the body still needs: none where it fails
        is_whole = False
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
            body = b"".join(pieces)
            kept = total
            is_whole = True
            return body
        finally:
            if not is_whole:
                response.close()
            if taken:
                self._room.free(taken - kept)

    async def _read_stream(self, response: aiohttp.ClientResponse) -> tuple[bytes, str]:
        """The bytes of a stream of events, and why its end did not come, if so: what
        has come may be whole without it."""
        most, lost = self._connection.max_reply_bytes, ""
        patience = min(self._connection.timeout, SILENCE_SECONDS)
        pieces, total, taken, tail = [], 0, 0, b""
        kept = 0  # bytes of room that the answer still needs: none where it fails
        try:
            while True:
                limit = asyncio.timeout(patience)
                try:
                    async with limit:
                        piece = await response.content.readany()
                except TimeoutError:
                    if not limit.expired():
                        raise  # the time for the whole call is over
                    lost = f"nothing came for {patience:g} s"
                    break
                except (self._aiohttp.ClientError, OSError) as error:
                    lost = str(error) or type(error).__name__
                    break
                if not piece:
                    response.release()
                    break
                total += len(piece)
                if total > most:
                    raise self._too_large()
                pieces.append(piece)
                tail = (tail + piece)[-_TAIL:]
                if b"[DONE]" in tail and has_ended(tail):
                    patience = min(patience, LAST_SECONDS)
                if not taken and total >= LARGE_BODY:
                    await self._room.take(STREAM_ROOM)
                    taken = STREAM_ROOM
            body = b"".join(pieces)
            kept = total
            return body, lost
        finally:
            response.close()
            if taken:
                self._room.free(taken - kept)

    async def fetch(self, links: Links) -> None:
        """Fetch the links of a reply that the user allows: without the key, without
        headers of the user's own, and from the named hosts alone."""
        async with self._bare_session() as session:
            for url in links.wanted:
                if url not in links.fetched:
                    links.fetched[url] = await self._fetched(session, url, links)

    def _bare_session(self) -> aiohttp.ClientSession:
        """A session without the key, cookies or headers of the user's own."""
        http = self._aiohttp
        session: aiohttp.ClientSession = http.ClientSession(
            cookie_jar=http.DummyCookieJar(),
            headers={
                "User-Agent": f"mmeval/{__version__}",
                "Accept-Encoding": "identity",
            },
            timeout=http.ClientTimeout(total=self._connection.timeout),
        )
        return session

    async def _fetched(
        self, session: aiohttp.ClientSession, url: str, links: Links
    ) -> Media | str:
        """The medium of a link, or why there is none."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                medium, url = await self._medium_or_target(session, url)
                if medium is not None:
                    return medium
                if not is_named(url, links.hosts):
                    return "it leads to a host that fetch_links does not name"
        except CallError as error:
            return error.text
        except TimeoutError:
            return f"no whole answer within {self._connection.timeout:g} s"
        except (self._aiohttp.ClientError, OSError, ValueError) as error:
            return f"it cannot be fetched ({error or type(error).__name__})"
        return f"more than {MAX_REDIRECTS} redirects"

    async def _medium_or_target(
        self, session: aiohttp.ClientSession, url: str
    ) -> tuple[Media | None, str]:
        """The medium at an address, or where it is redirected to."""
        async with session.get(
            url, allow_redirects=False, proxy=environment_proxy(url)
        ) as response:
            if 300 <= response.status < 400:
                return None, urljoin(url, response.headers.get("Location", ""))
            if response.status != 200:
                raise bad_reply(f"HTTP {response.status}")
            data = await self._read_pieces(response, response.content_length)
            # nobody waits for the end of its decoding
            if len(data) >= LARGE_BODY:
                self._room.free(len(data))
            if not data:
                raise bad_reply("it is empty")
            return Media.from_bytes(data), url

    def _too_large(self) -> CallError:
        limit = self._connection.max_reply_bytes
        return bad_reply(
            f"the reply is larger than {limit} bytes; raise max_reply_bytes if that "
            "is meant"
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
            said = cause.strerror or str(cause)
            # the resolver's own numbers are below 0
            if cause.errno and cause.errno > 0:
                said = os.strerror(cause.errno)
        elif isinstance(error, self._aiohttp.ConnectionTimeoutError):
            seconds = min(CONNECT_TIMEOUT, self._connection.timeout)
            said = f"no connection within {seconds:g} s"
        return CallError("unreachable", f"{where} cannot be reached ({said})")
