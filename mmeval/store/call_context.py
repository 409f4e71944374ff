"""The context of a call: what the process that answers it needs to keep the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmeval.records.request import Request
from mmeval.store.spending import NOT_SENT, ModelEndpoint


@dataclass(frozen=True, slots=True)
class CallContext:
    """Whose call it is, and how the journal names it.

    ``key`` is the call's name in the journal, ``by`` its place in a program, ``to`` who
    is paid for it (None: no call is sent). ``attempt`` counts the tries that failed
    before, ``draw`` the replies to this call that were refused. ``warnings`` are
    warnings that the answer gets, of what was done to the request.
    """

    trial: str
    key: str = ""
    by: str = ""
    to: ModelEndpoint | None = None
    attempt: int = 0
    draw: int = 0
    warnings: tuple[str, ...] = ()


NO_CONTEXT = CallContext("")
"""For a backend whose answers this process keeps, and whose calls wait for no
company."""


def line_head(
    key: str,
    request_digest: str,
    *,
    by: str = "",
    to: ModelEndpoint | None = None,
    attempt: int = 0,
) -> dict[str, Any]:
    """The beginning of a journal line: everything but the time and the response."""
    head: dict[str, Any] = {
        "k": key,
        "d": request_digest,
        "to": NOT_SENT if to is None else tuple(to),
    }
    if by:
        head["by"] = by
    if attempt:
        head["a"] = attempt
    return head


def raw_head(context: CallContext, request: Request) -> dict[str, Any]:
    """The beginning of a worker's line, with ``w``: the answer was not checked.
    Its value is how many replies to the call were refused before this one."""
    head = line_head(
        context.key,
        request.digest,
        by=context.by,
        to=context.to,
        attempt=context.attempt,
    )
    return {**head, "w": context.draw}
