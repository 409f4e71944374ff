"""The addresses of a model. Calls go to the least busy address.

An address that is down is skipped for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from mmeval.model_backends.wire.connection import is_local

if TYPE_CHECKING:
    from yarl import URL

AGAIN_SECONDS = 30.0
"""Seconds for which calls skip an unreachable address before they try it again."""
ERRORS_IN_A_ROW = 3
"""Number of consecutive server errors after which calls skip an address.

Such an address fails faster than others answer, so it would get most of the calls.
"""

_PORTS = {"http": 80, "https": 443}
_MOST_URLS = 32
"""Maximum number of cached URLs of endpoints and jobs, for each address."""

log = logging.getLogger(__name__)


class Address:
    """The address of one server.

    ``calls`` is the number of active calls. ``errors`` is the number of consecutive
    server errors.
    """

    def __init__(self, base_url: str, query: str = "") -> None:
        self.query = query
        self.base_url, self.calls, self.errors = base_url, 0, 0
        self.name = urlsplit(base_url).netloc.rpartition("@")[2]
        # looked up once, because the lookup takes longer than a request
        self.proxy = environment_proxy(base_url)
        self.down_until: float | None = None
        """The time of the next attempt. It is None while the server can be reached."""
        self._urls: dict[str, URL] = {}

    def url(self, path: str) -> URL:
        """Returns the URL of a path below the address.

        A complete URL is returned unchanged.
        """
        url = self._urls.get(path)
        if url is None:
            from yarl import URL

            mark = "&" if "?" in path else "?"
            query = f"{mark}{self.query}" if self.query else ""
            is_whole = "://" in path
            url = URL(path if is_whole else f"{self.base_url}/{path}{query}")
            if len(self._urls) < _MOST_URLS:
                self._urls[path] = url
        return url


class Addresses:
    """The addresses of one model. A call may go to any of them."""

    def __init__(self, base_urls: Sequence[str], query: str = "") -> None:
        self._all = [Address(url, query) for url in base_urls]

    def with_url(self, base_url: str) -> Address:
        """Returns the address with this URL, or the first address if there is none."""
        for address in self._all:
            if address.base_url == base_url:
                return address
        return self._all[0]

    def next(self) -> Address:
        """Returns the least busy address.

        If several addresses are equally busy, returns the one that was used longest
        ago.
        """
        if len(self._all) == 1:
            return self._all[0]
        now = time.monotonic()
        up = [address for address in self._all if (address.down_until or 0.0) <= now]
        if up:
            address = min(up, key=attrgetter("calls"))
        else:
            address = min(self._all, key=attrgetter("down_until"))
        if address.down_until is not None:
            # only this call tries the address: other calls skip it until it answers
            address.down_until = now + AGAIN_SECONDS
        # moved to the end: of equally busy addresses, min() returns the first
        self._all.remove(address)
        self._all.append(address)
        return address

    def record_status(self, address: Address, status: int) -> None:
        """Records the status of a reply."""
        if status >= 500:
            address.errors += 1
            if address.errors >= ERRORS_IN_A_ROW:
                self.mark_down(
                    address,
                    f"{address.name} answered {status}, consecutive error number "
                    f"{address.errors}",
                )
            return
        address.errors = 0
        if address.down_until is not None:
            address.down_until = None
            if len(self._all) > 1:
                log.warning("%s answers again and is used again", address.name)

    def mark_down(self, address: Address, reason: str) -> bool:
        """Records that an address is down. Returns True if another can be used."""
        others = 0
        for other in self._all:
            if other is not address and other.down_until is None:
                others += 1
        if address.down_until is None and others:
            log.warning(
                "%s; it is skipped, and tried again every %.0f s (addresses left: %d)",
                reason,
                AGAIN_SECONDS,
                others,
            )
        address.down_until = time.monotonic() + AGAIN_SECONDS
        return others > 0


def is_same_server(url: str, base_url: str) -> bool:
    """Returns True if a URL has the same scheme, host and port as an address."""
    try:
        target, server = urlsplit(url), urlsplit(base_url)
        port = target.port or _PORTS.get(target.scheme)
        server_port = server.port or _PORTS[server.scheme]
    except (ValueError, KeyError):
        return False
    is_same_host = target.hostname == server.hostname
    return target.scheme == server.scheme and is_same_host and port == server_port


def environment_proxy(base_url: str) -> str | None:
    """Returns the proxy that the environment sets, or None for local servers."""
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    if is_local(host) or proxy_bypass(host):
        return None
    return getproxies().get(parsed.scheme)
