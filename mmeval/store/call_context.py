"""The context of a call, which a process needs to journal the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmeval.records.request import Request
from mmeval.store.spending import NOT_SENT, ModelEndpoint


@dataclass(frozen=True, slots=True)
class CallContext:
    """The trial of a call, and its name in the journal.

    - ``key``: name of the call in the journal
    - ``by``: position of the call in a program
    - ``to``: the endpoint that is called; None if no call is sent
    - ``attempt``: number of earlier attempts that failed
    - ``draw``: number of earlier replies that were not acceptable
    - ``warnings``: warnings about changes to the request, which are added to the answer
    """

    trial: str
    key: str = ""
    by: str = ""
    to: ModelEndpoint | None = None
    attempt: int = 0
    draw: int = 0
    warnings: tuple[str, ...] = ()


NO_CONTEXT = CallContext("")
"""The context of calls without a batch, whose answers this process writes itself."""


def line_head(
    key: str,
    request_digest: str,
    *,
    by: str = "",
    to: ModelEndpoint | None = None,
    attempt: int = 0,
) -> dict[str, Any]:
    """Returns the fields of a journal line before its time and response."""
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
    """Returns the fields of a worker's line before its time and response.

    The field ``w`` marks an unchecked answer. The value of this field is the number of
    refused earlier replies to the call.
    """
    head = line_head(
        context.key,
        request.digest,
        by=context.by,
        to=context.to,
        attempt=context.attempt,
    )
    return {**head, "w": context.draw}
