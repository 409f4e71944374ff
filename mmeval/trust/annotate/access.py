"""Who may use the page: tokens of raters, and the hosts that requests may name."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
from collections.abc import Collection

_TOKEN_BYTES = 16
EVERYONE = "\0everyone"
"""The owner of the token of a link that is open to everyone."""


class Tokens:
    """Makes and reads the tokens in links. A token names its rater, and only who knows
    the secret can make one."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def of(self, rater: str) -> str:
        """Returns the token of a rater."""
        name = base64.urlsafe_b64encode(rater.encode("utf-8", "surrogatepass"))
        return f"{name.decode().rstrip('=')}.{self._mark(rater)}"

    def rater(self, token: str) -> str | None:
        """Returns the rater of a token, or None if the token is wrong."""
        name, _, mark = token.partition(".")
        try:
            padded = name.encode("ascii") + b"=" * (-len(name) % 4)
            rater = base64.urlsafe_b64decode(padded).decode("utf-8", "surrogatepass")
        except (binascii.Error, ValueError):
            return None
        is_right = hmac.compare_digest(mark.encode(), self._mark(rater).encode())
        return rater if is_right else None

    def hidden(self, name: str) -> str:
        """Returns a name for a person that says nothing about the given one."""
        return self._mark(f"hidden {name}")[:16]

    def _mark(self, text: str) -> str:
        words = text.encode("utf-8", "surrogatepass")
        mark = hmac.new(self._secret, words, hashlib.sha256).digest()
        return mark[:_TOKEN_BYTES].hex()


def is_own_host(header: str, names: Collection[str]) -> bool:
    """Returns True if the Host header of a request names this server.

    A foreign page can make a browser send requests here under a name of its own, but
    not under a number. So any address of digits is right, and ``names`` besides.
    """
    host = header.strip().lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    if host in names:
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
