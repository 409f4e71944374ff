"""Sends HTTP requests with pooled connections and bounded replies, without retries."""

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
from mmeval.model_backends.wire.replies.links import Links, is_allowed
from mmeval.model_backends.wire.replies.server_errors import http_error

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT = 30.0
"""Maximum time to open a connection, in seconds.

This limit is short, so an unreachable machine is reported long before a slow answer
times out.
"""

DNS_SECONDS = 300
LARGE_BODY = 2**20
"""Size in bytes from which bodies count as large.

A large request is sent in several chunks, so that other calls can continue meanwhile. A
large reply is read once enough memory is free.
"""
HELD_BYTES = 2**29
"""Maximum total size of the large replies in memory, in bytes.

A single reply may be larger.
"""
SILENCE_SECONDS = 300.0
"""Seconds without data after which a stream counts as ended.

A shorter ``timeout`` ends the stream earlier.
"""
LAST_SECONDS = 1.0
"""Seconds to wait until a connection ends after the last event of a stream.

A connection that ends properly is reused.
"""
STREAM_BYTES = 2**24
"""Number of bytes of memory for which a large stream waits.

If the stream needs more memory, the additional memory is counted, but the stream does
not wait for it.
"""
_TAIL = 64
"""Number of bytes at the end of a stream that are searched for its last event."""
MAX_REDIRECTS = 5


class HttpRequest(NamedTuple):
    """An encoded request: the path below ``base_url`` and the body.

    ``notes`` describe conversions and omissions.
    """

    path: str
    body: bytes
    content_type: str = "application/json"
    notes: tuple[str, ...] = ()


class HttpReply(NamedTuple):
    """A reply of a server.

    ``latency`` is the time in seconds from sending to the last byte. ``held_bytes`` is
    the memory in bytes that is reserved for the body until it is released.
    ``cut_reason`` explains why the end of a stream is missing. ``base_url`` is the
    address that replied.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float
    held_bytes: int = 0
    cut_reason: str = ""
    base_url: str = ""

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")


class ReplyMemory:
    """Memory for the bodies of large replies, granted in the order of requests."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held_bytes = limit, 0
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    async def take(self, size: int) -> None:
        async with self._turn:
            while self.held_bytes and self.held_bytes + size > self.limit:
                self._freed.clear()
                await self._freed.wait()
            self.held_bytes += size

    def free(self, size: int) -> None:
        self.held_bytes -= size
        self._freed.set()


class Transport:
    """Sends requests to one of the addresses of a model."""

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
        self._memory = ReplyMemory(HELD_BYTES)

    def move_to(self, base_url: str) -> None:
        """Sends all later requests to another address."""
        self._addresses = Addresses((base_url,), self._connection.query)
        self.base_url = base_url

    async def post(self, request: HttpRequest, key: str = "") -> HttpReply:
        """Sends a request to the first address that can be reached.

        Returns the reply with any status. A server that supports idempotency keys
        returns its first reply again for a second call with the same ``key``. Raises
        CallError if there is no complete reply.
        """
        headers = {}
        if key:
            headers["Idempotency-Key"] = key
        if request.content_type != "application/json":
            headers["Content-Type"] = request.content_type
        while True:
            body: Any = request.body
            if len(request.body) >= LARGE_BODY:
                body = io.BytesIO(request.body)
            addresses = self._addresses
            address = addresses.next()
            address.calls += 1
            try:
                http_reply = await self._exchange(
                    "POST", address, request.path, body, headers
                )
            except CallError as error:
                # only an unreachable server has certainly not received the request
                if error.kind != "unreachable" or not addresses.mark_down(
                    address, error.text
                ):
                    raise
            else:
                addresses.record_status(address, http_reply.status)
                return http_reply
            finally:
                address.calls -= 1

    async def get(self, location: str, base_url: str) -> HttpReply:
        """Requests a URL, or a path below ``base_url``, and follows redirects.

        The reply may have any status. Only the server at ``base_url`` gets the key and
        the user's headers. Raises CallError if there is no complete reply.
        """
        address = self._addresses.with_url(base_url)
        for _ in range(MAX_REDIRECTS + 1):
            url = str(address.url(location))
            if not url.startswith(("http://", "https://")):
                raise bad_reply(f"the server's link is not an http URL: {url[:80]!r}")
            if is_same_server(url, address.base_url):
                http_reply = await self._exchange("GET", address, location)
            else:
                async with self._bare_session() as session:
                    http_reply = await self._exchange(
                        "GET", Address(url), url, session=session
                    )
            if not 300 <= http_reply.status < 400:
                return http_reply
            self.release(http_reply)
            location = urljoin(url, http_reply.headers.get("Location", ""))
        raise bad_reply(f"the server sent more than {MAX_REDIRECTS} redirects")

    def error(self, http_reply: HttpReply) -> CallError:
        """Returns the error in a reply with a status outside of 200-299."""
        return http_error(
            http_reply.status,
            http_reply.headers,
            http_reply.body,
            keyed=bool(self._connection.api_key),
            key_name=self._connection.key_name,
        )

    def knows(self, base_url: str) -> bool:
        """Returns True if a URL is an address of the model."""
        return self._addresses.with_url(base_url).base_url == base_url

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
            cut_reason = ""
            if response.headers.get("Content-Type", "").startswith(EVENT_STREAM):
                http_reply, cut_reason = await self._read_stream(response)
            else:
                http_reply = await self._read(response)
        except (
            self._aiohttp.ClientConnectorError,
            self._aiohttp.ConnectionTimeoutError,
        ) as error:
            raise self._unreachable(error, address) from error
        except TimeoutError:
            raise CallError(
                "timeout", f"no complete answer within {self._connection.timeout:g} s"
            ) from None
        except (self._aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            if isinstance(error, self._aiohttp.ClientResponseError):
                failure = bad_reply(f"the server's reply is not valid HTTP ({reason})")
            else:
                failure = CallError(
                    "connection",
                    f"the connection to {address.name} was lost ({reason})",
                )
            raise failure from error
        latency = time.perf_counter() - started
        held_bytes = len(http_reply) if len(http_reply) >= LARGE_BODY else 0
        # the server may echo the request with its secrets
        clean = without_secrets(http_reply, self._secrets)
        return HttpReply(
            response.status,
            response.headers,
            clean,
            latency,
            held_bytes,
            cut_reason,
            address.base_url,
        )

    def release(self, http_reply: HttpReply) -> None:
        """Frees the memory of a reply whose body is no longer needed."""
        if http_reply.held_bytes:
            self._memory.free(http_reply.held_bytes)

    async def close(self) -> None:
        """Closes every connection. A later call opens new ones."""
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
            # without compression, a small reply cannot expand to a huge one
            "Accept-Encoding": "identity",
            **connection.interface_headers,
        }
        if connection.api_key and connection.api_key_header:
            headers[connection.api_key_header] = connection.api_key
        elif connection.api_key:
            headers["Authorization"] = f"Bearer {connection.api_key}"
        # the user's headers replace others, and names ignore case
        user_names = {name.lower() for name in connection.extra_headers}
        for name, value in list(headers.items()):
            if not value or name.lower() in user_names:
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
        # both belong to the same event loop
        self._session, self._memory = session, ReplyMemory(HELD_BYTES)
        return session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Returns the complete body.

        A connection that is not read completely is closed, not reused.
        """
        length = response.content_length
        if "Content-Encoding" in response.headers:
            length = None
        small = min(LARGE_BODY, self._connection.max_reply_bytes + 1)
        if length is not None and length < small:
            # the response closes itself on failure, and a context manager would take
            # 4 % of the time of a small call
            return await response.read()
        async with response:
            return await self._read_pieces(response, length)

    async def _read_pieces(
        self, response: aiohttp.ClientResponse, length: int | None
    ) -> bytes:
        """Reads a body that is large or of unknown length.

        A large body is read once enough memory is free. It occupies this memory until
        it is released.
        """
        max_bytes = self._connection.max_reply_bytes
        pieces, total, reserved_bytes = [], 0, 0
        kept_bytes = 0  # bytes reserved for the body after this call; 0 on failure
        is_whole = False
        try:
            if length is not None and length > max_bytes:
                raise self._too_large()
            async for piece in response.content.iter_any():
                total += len(piece)
                if total > max_bytes:
                    raise self._too_large()
                pieces.append(piece)
                if not reserved_bytes and total >= LARGE_BODY:
                    reserved = length or max_bytes
                    await self._memory.take(reserved)
                    reserved_bytes = reserved
            body = b"".join(pieces)
            kept_bytes = total
            is_whole = True
            return body
        finally:
            if not is_whole:
                response.close()
            if reserved_bytes:
                self._memory.free(reserved_bytes - kept_bytes)

    async def _read_stream(self, response: aiohttp.ClientResponse) -> tuple[bytes, str]:
        """Returns the bytes of a stream of events, and why its end is missing.

        The reason is empty for a stream with an end. The answer may be complete without
        the end.
        """
        max_bytes, cut_reason = self._connection.max_reply_bytes, ""
        patience = min(self._connection.timeout, SILENCE_SECONDS)
        pieces, total, reserved_bytes, tail = [], 0, 0, b""
        kept_bytes = 0  # bytes reserved for the answer after this call; 0 on failure
        try:
            while True:
                limit = asyncio.timeout(patience)
                try:
                    async with limit:
                        piece = await response.content.readany()
                except TimeoutError:
                    if not limit.expired():
                        raise  # the time limit of the whole call is reached
                    cut_reason = f"no data for {patience:g} s"
                    break
                except (self._aiohttp.ClientError, OSError) as error:
                    cut_reason = str(error) or type(error).__name__
                    break
                if not piece:
                    response.release()
                    break
                total += len(piece)
                if total > max_bytes:
                    raise self._too_large()
                pieces.append(piece)
                tail = (tail + piece)[-_TAIL:]
                if b"[DONE]" in tail and has_ended(tail):
                    patience = min(patience, LAST_SECONDS)
                if not reserved_bytes and total >= LARGE_BODY:
                    await self._memory.take(STREAM_BYTES)
                    reserved_bytes = STREAM_BYTES
            body = b"".join(pieces)
            kept_bytes = total
            return body, cut_reason
        finally:
            response.close()
            if reserved_bytes:
                self._memory.free(reserved_bytes - kept_bytes)

    async def fetch(self, links: Links) -> None:
        """Fetches the missing links of a reply from allowed hosts.

        The key and the user's headers are not sent.
        """
        async with self._bare_session() as session:
            for url in links.missing:
                if url not in links.fetched:
                    links.fetched[url] = await self._linked_medium(session, url, links)

    def _bare_session(self) -> aiohttp.ClientSession:
        """Returns a session without the key, cookies and the user's headers."""
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

    async def _linked_medium(
        self, session: aiohttp.ClientSession, url: str, links: Links
    ) -> Media | str:
        """Returns the medium at a link, or the reason why it could not be fetched."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                medium, url = await self._medium_or_target(session, url)
                if medium is not None:
                    return medium
                if not is_allowed(url, links.hosts):
                    return "it redirects to a host that fetch_links does not name"
        except CallError as error:
            return error.text
        except TimeoutError:
            return f"no complete answer within {self._connection.timeout:g} s"
        except (self._aiohttp.ClientError, OSError, ValueError) as error:
            return f"it cannot be fetched ({error or type(error).__name__})"
        return f"it has more than {MAX_REDIRECTS} redirects"

    async def _medium_or_target(
        self, session: aiohttp.ClientSession, url: str
    ) -> tuple[Media | None, str]:
        """Returns the medium at a URL, or the URL that it redirects to."""
        async with session.get(
            url, allow_redirects=False, proxy=environment_proxy(url)
        ) as response:
            if 300 <= response.status < 400:
                return None, urljoin(url, response.headers.get("Location", ""))
            if response.status != 200:
                raise bad_reply(f"HTTP {response.status}")
            data = await self._read_pieces(response, response.content_length)
            # the body was copied into a medium, so its reserved memory is free again
            if len(data) >= LARGE_BODY:
                self._memory.free(len(data))
            if not data:
                raise bad_reply("it is empty")
            return Media.from_bytes(data), url

    def _too_large(self) -> CallError:
        limit = self._connection.max_reply_bytes
        return bad_reply(
            f"the reply is larger than {limit} bytes; raise max_reply_bytes to read it"
        )

    def _unreachable(self, error: Exception, address: Address) -> CallError:
        """Returns the error for a connection that could not be opened.

        Causes are an unknown host, a missing server, or an untrusted certificate.
        """
        reason = str(error).replace(
            " ssl:default", ""
        )  # aiohttp's name for its default
        where = address.name
        if isinstance(
            error, ssl.CertificateError | self._aiohttp.ClientConnectorCertificateError
        ):
            return CallError(
                "bad_request", f"the server's certificate is not trusted ({reason})"
            )
        # this error's own message repeats the address
        if isinstance(error, self._aiohttp.ClientConnectorError):
            where, cause = f"{error.host}:{error.port}", error.os_error
            reason = cause.strerror or str(cause)
            # negative numbers come from the resolver and are unknown to os.strerror
            if cause.errno and cause.errno > 0:
                reason = os.strerror(cause.errno)
        elif isinstance(error, self._aiohttp.ConnectionTimeoutError):
            seconds = min(CONNECT_TIMEOUT, self._connection.timeout)
            reason = f"no connection within {seconds:g} s"
        return CallError("unreachable", f"{where} cannot be reached ({reason})")
