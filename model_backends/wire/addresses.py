"""The addresses of a model: the least busy one is asked, and one that is down is left
out for a while."""

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
"""How long an address that cannot be reached is left out, until one call tries it
again."""
ERRORS_IN_A_ROW = 3
"""So many errors of a server leave it out too: it fails faster than others answer, and
would get most of the calls."""

_PORTS = {"http": 80, "https": 443}
_MOST_URLS = 32
"""So many are kept for each address: those of endpoints, and of some jobs."""

log = logging.getLogger(__name__)


class Address:
    """Where a server is; ``calls`` are those under way there, ``errors`` those in a
    row."""

    def __init__(self, base_url: str, query: str = "") -> None:
        self.query = query
        self.base_url, self.calls, self.errors = base_url, 0, 0
        self.name = urlsplit(base_url).netloc.rpartition("@")[2]
        self.proxy = environment_proxy(base_url)
        self.down_until: float | None = None
        """When it is tried again; None while it can be reached."""
        self._urls: dict[str, URL] = {}

    def url(self, path: str) -> URL:
        """The URL of a path below the address. One that is whole stays as it is."""
        known = self._urls.get(path)
        if known is None:
            from yarl import URL

            mark = "&" if "?" in path else "?"
            query = f"{mark}{self.query}" if self.query else ""
            is_whole = "://" in path
            known = URL(path if is_whole else f"{self.base_url}/{path}{query}")
            if len(self._urls) < _MOST_URLS:
                self._urls[path] = known
        return known


class Addresses:
    """The addresses of one model, of which any may be asked, each with the query."""

    def __init__(self, base_urls: Sequence[str], query: str = "") -> None:
        self._all = [Address(url, query) for url in base_urls]

    def at(self, base_url: str) -> Address:
        """The address with this URL; without one, the first."""
        for address in self._all:
            if address.base_url == base_url:
                return address
        return self._all[0]

    def next(self) -> Address:
        """The least busy address; of equally busy ones, the one that was asked longest
        ago."""
        if len(self._all) == 1:
            return self._all[0]
        now = time.monotonic()
        up = [address for address in self._all if (address.down_until or 0.0) <= now]
        if up:
            address = min(up, key=attrgetter("calls"))
        else:
            address = min(self._all, key=attrgetter("down_until"))
        if address.down_until is not None:
            address.down_until = now + AGAIN_SECONDS  # this call looks, and no other
        self._all.remove(address)
        self._all.append(address)
        return address

    def answered(self, address: Address, status: int) -> None:
        """Note the status of a reply."""
        if status >= 500:
            address.errors += 1
            if address.errors >= ERRORS_IN_A_ROW:
                self.left_out(
                    address,
                    f"{address.name} has answered {status}, its error "
                    f"{address.errors} in a row",
                )
            return
        address.errors = 0
        if address.down_until is not None:
            address.down_until = None
            if len(self._all) > 1:
                log.warning("%s answers again, and gets calls", address.name)

    def left_out(self, address: Address, reason: str) -> bool:
        """Note that an address cannot be used; whether there is another to ask."""
        others = sum(one.down_until is None for one in self._all if one is not address)
        if address.down_until is None and others:
            log.warning(
                "%s; it is left out and tried again every %.0f s (addresses left: %d)",
                reason,
                AGAIN_SECONDS,
                others,
            )
        address.down_until = time.monotonic() + AGAIN_SECONDS
        return others > 0


def is_same_server(url: str, base_url: str) -> bool:
    """Whether a URL is of the same scheme, host and port as an address."""
    try:
        given, own = urlsplit(url), urlsplit(base_url)
        port = given.port or _PORTS.get(given.scheme)
        own_port = own.port or _PORTS[own.scheme]
    except (ValueError, KeyError):
        return False
    is_same_host = given.hostname == own.hostname
    return given.scheme == own.scheme and is_same_host and port == own_port


def environment_proxy(base_url: str) -> str | None:
    """The proxy in the environment for this server; local servers need none.

    It is found once, because the lookup takes longer than a request.
    """
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    if is_local(host) or proxy_bypass(host):
        return None
    return getproxies().get(parsed.scheme)
