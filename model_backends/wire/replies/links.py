"""Handles links in replies. Only links to hosts in ``fetch_links`` are fetched."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from mmeval.media import Media
from mmeval.model_backends.wire.failures import CallError
from mmeval.system.wording import shortened

_SHOWN_CHARS = 80
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Links:
    """The links of one reply.

    A reply is decoded twice. The first time, links to fetch are added to ``missing``.
    The second time, ``fetched`` contains the media of these links, or the reasons why
    they could not be fetched.
    """

    hosts: Collection[str] = ()
    """Allowed hosts: ``host`` with its usual ports, or ``host:port``."""
    base_url: str = ""
    missing: dict[str, None] = field(default_factory=dict)
    fetched: dict[str, Media | str] = field(default_factory=dict)

    def may_fetch(self, address: str) -> bool:
        """Returns True if the user allows the host of an address."""
        return is_allowed(self.url(address), self.hosts)

    def url(self, address: str) -> str:
        """Returns the absolute URL. Relative addresses belong to the server itself."""
        return urljoin(self.base_url, address) if self.base_url else address

    def medium(self, address: str) -> Media | str:
        """Returns the medium at a link, or the reason why it could not be fetched.

        If the link is not yet fetched, it is added to ``missing``, and the reason is
        empty.
        """
        url = self.url(address)
        if url not in self.fetched:
            self.missing.setdefault(url)
            return ""
        return self.fetched[url]


def is_allowed(url: str, hosts: Collection[str]) -> bool:
    """Returns True if an absolute http address has one of these hosts."""
    try:
        parsed = urlsplit(url)
        port = parsed.port
    except ValueError:
        return False
    default_port = _PORTS.get(parsed.scheme)
    if default_port is None or not parsed.hostname:
        return False
    if port in (None, default_port) and parsed.hostname in hosts:
        return True
    return f"{parsed.hostname}:{port or default_port}" in hosts


def link_error(address: str, reason: str = "") -> CallError:
    """Returns the error for a reply that contains a link instead of a medium.

    Calls with this kind of error are not retried, because a retry would cost again and
    return a link again.
    """
    shown = shortened(address, _SHOWN_CHARS)
    if reason:
        return CallError("unsupported", f"the answer's link {shown!r}: {reason}")
    host = urlsplit(address).netloc.rpartition("@")[2] or "HOST"
    return CallError(
        "unsupported",
        f"the answer contains a link ({shown!r}) instead of data, and links are not "
        f"fetched. Allow it with fetch_links={host}; with the backend openai, "
        "image_response_format=b64_json requests pictures as data",
    )
