"""Links in replies: none is fetched unless its host is named by ``fetch_links``."""

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
    """The links of one reply. A first reading of the reply notes in ``wanted`` what may
    be fetched; a second one finds it in ``fetched``, or why it could not be had."""

    hosts: Collection[str] = ()
    """``host`` for its usual ports, ``host:port`` for another one."""
    base_url: str = ""
    wanted: dict[str, None] = field(default_factory=dict)
    fetched: dict[str, Media | str] = field(default_factory=dict)

    def may_fetch(self, address: str) -> bool:
        """Whether the user has named the host of an absolute address."""
        return is_named(self.url(address), self.hosts)

    def url(self, address: str) -> str:
        """The absolute address: a relative one is of the server itself."""
        return urljoin(self.base_url, address) if self.base_url else address

    def medium(self, address: str) -> Media | str:
        """What a link leads to, or why that is not known. A link that was not fetched
        yet is noted, and gives an empty reason."""
        url = self.url(address)
        if url not in self.fetched:
            self.wanted.setdefault(url)
            return ""
        return self.fetched[url]


def is_named(url: str, hosts: Collection[str]) -> bool:
    """Whether an absolute http address is of one of these hosts."""
    try:
        parsed = urlsplit(url)
        port = parsed.port
    except ValueError:
        return False
    usual = _PORTS.get(parsed.scheme)
    if usual is None or not parsed.hostname:
        return False
    if port in (None, usual) and parsed.hostname in hosts:
        return True
    return f"{parsed.hostname}:{port or usual}" in hosts


def link_error(address: str, reason: str = "") -> CallError:
    """The error for a link in place of a medium. Asking again would cost again and give
    a link again, so it is of a kind that is not repeated."""
    shown = shortened(address, _SHOWN_CHARS)
    if reason:
        return CallError("unsupported", f"the link {shown!r} of the answer: {reason}")
    host = urlsplit(address).netloc.rpartition("@")[2] or "HOST"
    return CallError(
        "unsupported",
        f"the answer holds a link ({shown!r}) instead of data, and links are not "
        f"fetched. Allow it with fetch_links={host}; the backend openai can ask for "
        "pictures as data with image_response_format=b64_json",
    )
