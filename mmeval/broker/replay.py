"""Replays a program with journalled answers, to find the calls that are still open."""

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
    next_calls,
    reply_to,
    with_paths,
)
from mmeval.records.response import Response

ReplayState = Literal["kept", "open", "unaskable"]
"""The state of a program.

``kept``: every call has an answer. ``open``: some calls have no answer. ``unaskable``:
the backend does not support a request of the program.
"""


def replay_state(
    program: Program[Any],
    scope: Scope,
    broker: Broker,
) -> ReplayState:
    """Returns the state that a program reaches with only the journalled answers.

    No call is sent. Raises the exceptions of the program, except CallFailed.
    """
    transcript = Transcript()
    step = 0
    sent: Reply | list[Reply] | None = None
    try:
        while True:
            try:
                yielded = next_calls(program, sent)
            except StopIteration:
                return "kept"
            shared = step == 0
            replies: list[Reply] = []
            for path, call in with_paths(yielded, step):
                answer = known_reply(
                    call, scope, path, broker, transcript, shared=shared
                )
                if answer.reply is None:
                    return "open"
                replies.append(answer.reply)
            sent = replies[0] if isinstance(yielded, Call) else replies
            step += 1
    except CallFailed as failed:
        return "unaskable" if failed.error.kind == "unsupported" else "open"
    finally:
        program.close()


class KnownReply(NamedTuple):
    """A reply that is known without a call (or None), with its key in the journal.

    The key is empty if the call is unsupported or the journal is empty.
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
    """Returns the journalled reply to a call, or an error for an unsupported call."""
    key = ""
    # the key needs the digest of the request, for which media are read
    if len(broker.journal):
        keyed_call = broker.keyed_call(call, scope, path, transcript, shared=shared)
        key = keyed_call.key
        entry = broker.journal.get(key)
        if entry is not None and entry.request_digest == keyed_call.digest:
            return KnownReply(reply_to(call, entry.response, path, key), key)

    runtime = broker.roles.get(call.role)
    reasons = ["has no backend"]
    if runtime is not None:
        reasons = missing(call, runtime.capabilities)
    if not reasons:
        return KnownReply(None, key)
    return KnownReply(Reply(Response.failed("unsupported", "; ".join(reasons)), path))
