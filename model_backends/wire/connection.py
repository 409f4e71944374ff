"""The settings of the connection to a server, checked before any request."""

from __future__ import annotations

import ipaddress
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from mmeval.backend import Capabilities
from mmeval.errors import MissingError, UnknownNameError, UsageError
from mmeval.model_backends.wire.formats import DEFAULT_FORMATS, Formats

_EXAMPLE = "write it like http://localhost:8000/v1"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The settings of the connection to one model.

    ``timeout`` is the limit in seconds for each call. The repr contains no secrets.
    """

    model: str
    base_url: str
    capabilities: Capabilities
    formats: Formats = DEFAULT_FORMATS
    """The formats of media that are sent unchanged."""
    replicas: tuple[str, ...] = ()
    timeout: float
    max_reply_bytes: int
    api_key: str = field(repr=False)
    key_name: str
    """The environment variable with the key, for messages."""
    api_key_header: str = ""
    """The header for the bare key. If it is empty, ``Authorization`` is used."""
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The user's headers. Their values are secrets."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    fetch_links: frozenset[str] = frozenset()

    @property
    def interface_headers(self) -> Mapping[str, str]:
        """Headers that the interface defines, without the key."""
        return {}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets, which must not occur in any file or output.

        The longest come first, because a secret may contain another secret.
        """
        secrets = {self.api_key, *self.extra_headers.values()} - {""}
        return tuple(sorted(secrets, key=len, reverse=True))

    @property
    def reply_facts(self) -> dict[str, Any]:
        """The user's additions to requests and replies, as part of the identity.

        Empty additions are left out.
        """
        facts = {
            "extra_body": dict(self.extra_body),
            "extra_headers": sorted(name.lower() for name in self.extra_headers),
            "query": self.query,
            "fetch_links": sorted(self.fetch_links),
        }
        return {name: value for name, value in facts.items() if value}

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def address(self) -> str:
        """Host and port of the server, for messages."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


def checked_base_url(
    value: str,
    *,
    argument: str = "base_url",
    key_name: str,
    endpoints: Collection[str] = (),
) -> str:
    """Returns a server's address without a trailing slash.

    Raises UsageError for anything but a plain http or https address, and for an address
    that ends in one of ``endpoints``. Credentials and queries are errors, because the
    address is written to the results.
    """
    url = value.strip()
    if "@" in url or "?" in url or "#" in url:
        raise UsageError(
            f"{argument} must not contain a user name, a query or a fragment; set the "
            f"key in {key_name}, and a query with the argument query",
            name=argument,
        )
    if "://" not in url:
        raise UsageError(
            f"{argument}={url!r} has no scheme; write http://{url} or https://{url}",
            name=argument,
        )
    try:
        parsed = urlsplit(url)
        _ = parsed.port
    except ValueError as error:
        raise UsageError(
            f"{argument} is not an address ({error}); {_EXAMPLE}", name=argument
        ) from None
    url = url.rstrip("/")
    is_http = parsed.scheme in ("http", "https") and parsed.hostname
    if not is_http or any(char.isspace() for char in url):
        raise UsageError(
            f"{argument}={url!r} is not an http address; {_EXAMPLE}", name=argument
        )
    if url.endswith(tuple(endpoints)):
        advice = "write only the part before it, which usually ends in /v1"
        raise UsageError(
            f"{argument}={url!r} names an endpoint; {advice}", name=argument
        )
    return url


def read_api_key(
    api_key_file: str, base_urls: Sequence[str], variables: Sequence[str]
) -> str:
    """Returns the key from the file or from the environment.

    Without a file, the key is in the first of ``variables`` that is set. The result is
    empty if there is no key and all servers are local.

    Raises MissingError if there is no key for a server that is not local. Raises
    UsageError for an invalid key.
    """
    origin = api_key_file or variables[0]
    key = ""
    if api_key_file:
        key = _key_in_file(Path(api_key_file).expanduser(), variables[0])
    else:
        for name in variables:
            key = key or os.environ.get(name, "").strip()
    for url in base_urls:
        host = urlsplit(url).hostname or ""
        if not key and not is_local(host):
            raise MissingError(
                f"{url} needs a key: set the environment variable {variables[0]}, or "
                "name a file that contains it with api_key_file=FILE",
                name=variables[0],
            )
    if not all("!" <= char <= "~" for char in key):
        raise UsageError(
            f"the key in {origin} contains invalid characters; it must be one word of "
            "plain ASCII"
        )
    return key


def _key_in_file(path: Path, variable: str) -> str:
    how_to_fix = (
        "name a readable file that contains the key with api_key_file=FILE, or set "
        f"{variable}"
    )
    try:
        key = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise MissingError(
            f"{path}: cannot read the key ({reason}); {how_to_fix}", file=path
        ) from None
    if not key:
        raise MissingError(f"{path}: the key file is empty; {how_to_fix}", file=path)
    return key


def is_local(host: str) -> bool:
    """Returns True for a host that is this machine or in its local network.

    Servers on these hosts rarely need a key.
    """
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))


def checked_choice(
    argument: str,
    value: object,
    choices: object,
) -> Any:
    """Returns a value of a literal type.

    Raises UnknownNameError with similar names for any other value.
    """
    allowed = get_args(choices)
    if value not in allowed:
        raise UnknownNameError(
            argument, str(value), allowed, f"Known: {', '.join(allowed)}."
        )
    return value


def checked_positive(argument: str, value: object) -> float:
    """Returns a number above 0. Raises UsageError for anything else."""
    try:
        number = float(value)  # type: ignore[arg-type]  # the user may write anything
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(
            f"{argument}={value!r} must be a number above 0", name=argument
        )
    return number


def checked_header_word(argument: str, value: object) -> str:
    """Returns one word for a header. Raises UsageError for anything else."""
    text = str(value)
    if not all("!" <= char <= "~" for char in text):
        raise UsageError(f"{argument}={text!r} must be one word of plain ASCII")
    return text
