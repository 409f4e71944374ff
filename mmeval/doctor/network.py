"""Check the hub, tokens, keys and proxies.

No secret is shown: only the variable of a key or token, and the host of a proxy.
"""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from mmeval.dataset.hub import TRUE
from mmeval.doctor.finding import Finding

DEADLINE = 3.0
"""Seconds for an answer of the hub, with the look-up of its name."""
ENDPOINT = "https://huggingface.co"
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_KEY_ENDINGS = ("_API_KEY", "_TOKEN", "_ACCESS_KEY", "_SECRET_KEY")


class HubProbe:
    """Asks the hub in its own thread, so that other checks need not wait."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.endpoint = environ.get("HF_ENDPOINT") or ENDPOINT
        self._environ = environ
        self._error: str | None = f"no answer within {DEADLINE:.0f} s"
        self._started = time.monotonic()
        self._thread: threading.Thread | None = None
        if not offline(environ):
            self._thread = threading.Thread(
                target=self._ask, name="mmeval-hub-probe", daemon=True
            )
            self._thread.start()

    def reachability(self) -> Iterator[Finding]:
        """Check whether the hub answers. Waits no longer than the deadline."""
        if named := offline(self._environ):
            way = f"set {named[0]}=0 to ask it"
            yield Finding(
                "note",
                f"the hub is not asked: {', '.join(named)} is set; what is in the "
                "cache is used",
                way,
            )
            return
        assert self._thread is not None
        self._thread.join(max(0.0, self._started + DEADLINE - time.monotonic()))
        if self._error is None:
            yield Finding("ok", f"the hub answers: {self.endpoint}")
            return
        message = f"the hub {self.endpoint} cannot be reached: {self._error}"
        way = (
            "check the network, HF_ENDPOINT and HTTPS_PROXY; HF_HUB_OFFLINE=1 uses "
            "the cache alone, without waiting"
        )
        yield Finding("note", message, way)

    def _ask(self) -> None:
        request = urllib.request.Request(self.endpoint, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE):
                self._error = None
        except urllib.error.HTTPError:  # any answer shows that it can be reached
            self._error = None
        except (
            OSError,
            HTTPException,
            ValueError,
        ) as error:  # ValueError: HF_ENDPOINT is no address
            self._error = (
                str(getattr(error, "reason", "") or error) or type(error).__name__
            )


def offline(environ: Mapping[str, str]) -> list[str]:
    """The variables that forbid the network."""
    return [name for name in OFFLINE if environ.get(name, "").upper() in TRUE]


def token(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check for a token of the hub, without showing it."""
    if environ.get("HF_TOKEN"):
        yield Finding("ok", "a token of the hub is set: HF_TOKEN")
        return
    home = Path(
        environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    ).expanduser()
    file = Path(environ.get("HF_TOKEN_PATH") or home / "token").expanduser()
    if file.is_file():
        yield Finding("ok", f"a token of the hub is in {file}")
    else:
        message = (
            "no token of the hub; only gated and private data sets and models need one"
        )
        yield Finding("note", message, "HF_TOKEN=..., or hf auth login")


def keys(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check which variables hold a key."""
    named = sorted(
        name
        for name, value in environ.items()
        if value and name.upper().endswith(_KEY_ENDINGS)
    )
    if named:
        yield Finding("ok", f"keys in the environment: {', '.join(named)}")
    else:
        message = "no key is in the environment; servers that ask for one need it"
        yield Finding("note", message, "OPENAI_API_KEY=..., for --model openai")
    if address := environ.get("OPENAI_BASE_URL"):
        yield Finding("ok", f"OPENAI_BASE_URL names the server {_host(address)}")


def proxies(environ: Mapping[str, str]) -> Iterator[Finding]:
    found = [
        (name, value)
        for name in PROXIES
        if (value := environ.get(name) or environ.get(name.lower()))
    ]
    shown = ", ".join(
        f"{name} {value if name == 'NO_PROXY' else _host(value)}"
        for name, value in found
    )
    yield Finding("ok", f"proxies: {shown}" if shown else "no proxy is set")


def _host(address: str) -> str:
    """The host of an address; a proxy's may hold a name and a password."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        return f"{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return "(unreadable)"
