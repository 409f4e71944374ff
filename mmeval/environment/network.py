"""Checks whether the Hugging Face hub can be reached."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException

from mmeval.dataset.hub import TRUE
from mmeval.findings.finding import Finding, Subject

DEADLINE = 3.0
"""Seconds to wait for an answer from the hub, including the DNS lookup."""
ENDPOINT = "https://huggingface.co"
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


class HubProbe:
    """Calls the hub in a thread, so that other checks do not wait."""

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
        """Checks whether the hub answers, and waits at most until the deadline."""
        if self._thread is None:
            return
        self._thread.join(max(0.0, self._started + DEADLINE - time.monotonic()))
        if self._error is not None:
            yield Finding(
                "machine",
                Subject(name=self.endpoint),
                cause=f"the hub cannot be reached: {self._error}",
                remedy="export HF_HUB_OFFLINE=1",
                severity="note",
            )

    def _ask(self) -> None:
        request = urllib.request.Request(self.endpoint, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE):
                self._error = None
        except urllib.error.HTTPError:  # an error status is an answer too
            self._error = None
        # ValueError: HF_ENDPOINT is not an address
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", "") or error
            self._error = str(reason) or type(error).__name__


def offline(environ: Mapping[str, str]) -> list[str]:
    """Returns the environment variables that are set and disable the network."""
    return [name for name in OFFLINE if environ.get(name, "").upper() in TRUE]
