"""How far a trial has come before this process: kept answers and open calls."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from mmeval.backend.sendable import missing
from mmeval.broker.broker import Broker
from mmeval.broker.scope import Scope, Transcript
from mmeval.program.calls import (
    Call,
    CallFailed,
    Program,
    Reply,
    next_asked,
    placed,
    reply_to,
)
from mmeval.records.response import Response

Standing = Literal["kept", "open", "unaskable"]
"""``kept``: every call is answered; ``open``: something is left to ask; ``unaskable``:
the model cannot be asked, or the sample cannot."""


def standing(
    program: Program[Any],
    scope: Scope,
    broker: Broker,
) -> Standing:
    """Run a program on the answers that the journal has; nothing is asked. Raises what
    the program raises, but for CallFailed."""
    transcript = Transcript()
    step = 0
    sent: Reply | list[Reply] | None = None
    try:
        while True:
            try:
                asked = next_asked(program, sent)
            except StopIteration:
                return "kept"
            shared = step == 0
            replies: list[Reply] = []
            for path, call in placed(asked, step):
                known = known_reply(
                    call, scope, path, broker, transcript, shared=shared
                )
                if known.reply is None:
                    return "open"
                replies.append(known.reply)
            sent = replies[0] if isinstance(asked, Call) else replies
            step += 1
    except CallFailed as failed:
        return "unaskable" if failed.error.kind == "unsupported" else "open"
    finally:
        program.close()


class KnownReply(NamedTuple):
    """A reply known without a call, or None; ``key`` is its name in the journal.

    The key is empty where the call cannot be made, and where the journal is.
    """

    reply: Reply | None
    key: str = ""


def known_reply(
    call: Call,
    scope: Scope,
    path: str,
    broker: Broker,
    transcript: Transcript,
    *,
    shared: bool,
) -> KnownReply:
    """The reply known without a call: journalled, or that the call cannot be asked."""
    key = ""
    # else there is nothing to find, and media need not be read to know what is looked
    # for
    if len(broker.journal):
        question = broker.question(call, scope, path, transcript, shared=shared)
        key = question.key
        entry = broker.journal.get(key)
        if entry is not None and entry.request_digest == question.digest:
            return KnownReply(reply_to(call, entry.response, path, key), key)

    runtime = broker.roles.get(call.role)
    gaps = ["has no backend"]
    if runtime is not None:
        gaps = missing(call, runtime.capabilities)
    if not gaps:
        return KnownReply(None, key)
    return KnownReply(Reply(Response.failed("unsupported", "; ".join(gaps)), path))
