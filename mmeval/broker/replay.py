"""How far a trial has come before this process: kept answers and open calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from mmeval.backend.sendable import missing
from mmeval.broker.broker import Broker, Scope
from mmeval.program.calls import Call, CallFailed, Program, Reply, next_asked, reply_to
from mmeval.records.response import Response

Standing = Literal["kept", "open", "unaskable"]
"""``kept``: every call is answered; ``open``: something is left to ask; ``unaskable``:
the model cannot be asked, or the sample cannot."""


def standing(program: Program[Any], scope: Scope, broker: Broker) -> Standing:
    """Run a program on the answers that the journal has; nothing is asked. Raises what
    the program raises, but for CallFailed."""
    replies = _known_replies(program, scope, broker)
    try:
        return "kept" if all(replies) else "open"
    except CallFailed as failed:
        return "unaskable" if failed.error.kind == "unsupported" else "open"
    finally:
        program.close()


def _known_replies(
    program: Program[Any], scope: Scope, broker: Broker
) -> Iterator[bool]:
    """Yield for each step whether its replies are known. Raises as the program does."""
    step = 0
    sent: Any = None
    while True:
        try:
            asked = next_asked(program, sent)
        except StopIteration:
            return
        calls = (
            [(str(step), asked)]
            if isinstance(asked, Call)
            else [(f"{step}.{i}", c) for i, c in enumerate(asked)]
        )
        replies = [
            known_reply(call, scope, path, broker, shared=step == 0).reply
            for path, call in calls
        ]
        found = [reply for reply in replies if reply is not None]
        yield len(found) == len(replies)
        sent = found[0] if isinstance(asked, Call) else found
        step += 1


class KnownReply(NamedTuple):
    """A reply known without a call, or None; ``key`` is its name in the journal.

    The key is empty where the call cannot be made, and where the journal is.
    """

    reply: Reply | None
    key: str = ""


def known_reply(
    call: Call, scope: Scope, path: str, broker: Broker, *, shared: bool
) -> KnownReply:
    """The reply known without a call: journalled, or that the call cannot be asked."""
    key = ""
    # else there is nothing to find, and media need not be read to know what is looked
    # for
    if len(broker.journal):
        occurrence = scope.occurrence(f"{call.role}/{call.request.digest}")
        key = broker.key_of(call, scope, path, shared=shared, occurrence=occurrence)
        entry = broker.journal.get(key)
        if entry is not None and entry.request_digest == call.request.digest:
            return KnownReply(reply_to(call, entry.response, path, key), key)
    runtime = broker.roles.get(call.role)
    gaps = (
        missing(call, runtime.capabilities)
        if runtime is not None
        else ["has no backend"]
    )
    return (
        KnownReply(Reply(Response.failed("unsupported", "; ".join(gaps)), path))
        if gaps
        else KnownReply(None, key)
    )
