"""The transport: a pooled HTTP session for POST, bounded replies, no retries."""

from __future__ import annotations

import io
import os
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from mmeval import __version__
from mmeval.model_backends.openai.failures import REDACTED, CallError, bad_reply
from mmeval.model_backends.openai.settings import Settings, is_local

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

CONNECT_TIMEOUT = 30.0
"""Seconds to open a connection, so that a missing machine is found long before a slow answer times out."""

DNS_SECONDS = 300
LARGE_BODY = 2**20
"""Bytes above which a body is sent in pieces, so that other calls go on in between."""

MIN_SECRET_CHARS = 16
"""Shorter keys are dummies such as ``EMPTY``, which may be words of an answer."""


class Outgoing(NamedTuple):
    """An encoded request: the path below ``base_url`` and the body."""

    path: str
    body: bytes
    content_type: str = "application/json"


class Received(NamedTuple):
    """A received reply. ``latency`` is in seconds, from sending to the last byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float


class Transport:
    """Sends bodies to one server."""

    def __init__(self, settings: Settings) -> None:
        import aiohttp

        self._aiohttp: Any = aiohttp
        self._settings = settings
        self._secret = settings.api_key.encode() if len(settings.api_key) >= MIN_SECRET_CHARS else b""
        self._urls: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None

    async def post(self, outgoing: Outgoing) -> Received:
        """The reply with any status. Raises CallError without a complete reply."""
        session = self._session or self._open()
        url = self._urls.get(outgoing.path) or self._url(outgoing.path)
        body: Any = outgoing.body if len(outgoing.body) < LARGE_BODY else io.BytesIO(outgoing.body)
        headers = None if outgoing.content_type == "application/json" else {"Content-Type": outgoing.content_type}
        started = time.perf_counter()
        try:
            response = await session.post(url, data=body, headers=headers, allow_redirects=False)
            received = await self._read(response)
        except (self._aiohttp.ClientConnectorError, self._aiohttp.ConnectionTimeoutError) as error:
            raise self._unreached(error) from error
        except TimeoutError:
            raise CallError("timeout", f"no whole answer within {self._settings.timeout:g} s") from None
        except (self._aiohttp.ClientError, OSError) as error:
            raise self._lost(error) from error
        if self._secret and self._secret in received:
            received = received.replace(self._secret, REDACTED.encode())  # the server may echo its request
        return Received(response.status, response.headers, received, time.perf_counter() - started)

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
            timeout=http.ClientTimeout(total=timeout, sock_connect=min(CONNECT_TIMEOUT, timeout)),
            proxy=environment_proxy(self._settings.base_url),
        )
        self._session = session
        return session

    def _url(self, path: str) -> URL:
        from yarl import URL

        self._urls[path] = url = URL(f"{self._settings.base_url}/{path}")
        return url

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body; a connection that is not read to the end is closed, not pooled."""
        length = response.content_length
        if length is None or "Content-Encoding" in response.headers:
            async with response:
                return await self._read_pieces(response)
        if length <= self._settings.max_reply_bytes:
            return await response.read()  # it closes itself on failure; a context manager costs 4 % of a small call
        response.close()
        raise self._too_large()

    async def _read_pieces(self, response: aiohttp.ClientResponse) -> bytes:
        pieces, total = [], 0
        async for piece in response.content.iter_any():
            total += len(piece)
            if total > self._settings.max_reply_bytes:
                response.close()
                raise self._too_large()
            pieces.append(piece)
        return b"".join(pieces)

    def _too_large(self) -> CallError:
        limit = self._settings.max_reply_bytes
        return bad_reply(f"the reply is larger than {limit} bytes; raise max_reply_bytes if that is meant")

    def _lost(self, error: Exception) -> CallError:
        said = str(error) or type(error).__name__
        if isinstance(error, self._aiohttp.ClientResponseError):
            return bad_reply(f"the server's reply is no sound HTTP ({said})")
        return CallError("connection", f"the connection to {self._settings.address} was lost ({said})")

    def _unreached(self, error: Exception) -> CallError:
        """The error when nothing was sent: unknown host, no server, untrusted certificate."""
        said = str(error).replace(" ssl:default", "")  # aiohttp's name for its default
        where = self._settings.address
        if isinstance(error, ssl.CertificateError | self._aiohttp.ClientConnectorCertificateError):
            return CallError("bad_request", f"the server's certificate is not trusted ({said})")
        if isinstance(error, self._aiohttp.ClientConnectorError):  # its message repeats the address
            where, cause = f"{error.host}:{error.port}", error.os_error
            said = os.strerror(cause.errno) if (cause.errno or 0) > 0 else cause.strerror or str(cause)
        elif isinstance(error, self._aiohttp.ConnectionTimeoutError):
            said = f"no connection within {min(CONNECT_TIMEOUT, self._settings.timeout):g} s"
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


def environment_proxy(base_url: str) -> str | None:
    """The proxy in the environment for this server; local servers need none.

    It is found once, because the lookup takes longer than a request.
    """
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    if is_local(host) or proxy_bypass(host):
        return None
    return getproxies().get(parsed.scheme)
