"""Waits for a response that the server makes in the background."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

from mmeval.model_backends.openai.responses.endpoint import (
    PATH,
    PENDING,
    response_in,
    status_of,
)
from mmeval.model_backends.openai.settings import Settings
from mmeval.model_backends.wire.failures import CallError, bad_reply
from mmeval.model_backends.wire.replies.events import is_stream
from mmeval.model_backends.wire.replies.server_errors import http_error, retry_after
from mmeval.model_backends.wire.transport import Received, Transport

_PENDING_WORDS = tuple(f'"{status}"'.encode() for status in PENDING)
_PASSING = frozenset((408, 409, 429))
"""Statuses after which a look is repeated, besides those of a server that fails."""
_PASSING_ERRORS = frozenset(("connection", "timeout", "unreachable"))


async def when_ready(
    received: Received, transport: Transport, settings: Settings
) -> Received:
    """The reply itself, or the response that it has begun, once that is ready.

    A look that fails is repeated: the response is not asked for twice. Raises CallError
    for a server that has lost it, and ``timeout`` where the whole call takes longer.
    """
    name = _pending_id(received)
    if not name:
        return received
    started = time.monotonic() - received.latency
    path = f"{PATH}/{quote(name, safe='')}"
    pause = settings.poll_seconds
    while True:
        spent = time.monotonic() - started
        if spent + pause > settings.timeout:
            raise CallError(
                "timeout", f"the answer is not ready within {settings.timeout:g} s"
            )
        await asyncio.sleep(pause)
        pause = settings.poll_seconds
        try:
            look = await transport.get(path, received.base_url)
        except CallError as error:
            if error.kind not in _PASSING_ERRORS:
                raise
            continue
        if 200 <= look.status < 300 and not _pending_id(look):
            return look._replace(latency=time.monotonic() - started)
        transport.release(look)
        if look.status in _PASSING or look.status >= 500:
            pause = max(pause, retry_after(look.headers) or 0.0)
        elif not 200 <= look.status < 300:
            keyed = bool(settings.api_key)
            raise http_error(look.status, look.headers, look.body, keyed=keyed)


def _pending_id(received: Received) -> str:
    """The id of a response that is not ready; empty for any other reply. Raises
    CallError ``bad_reply`` where it has none."""
    body = received.body
    if not any(words in body for words in _PENDING_WORDS):
        return ""
    if is_stream(body, received.content_type):
        return ""
    response = response_in(body)
    if response is None or status_of(response) not in PENDING:
        return ""
    name = response.get("id")
    if not isinstance(name, str) or not name:
        raise bad_reply("the server's answer is not ready, and has no id to look for")
    return name
