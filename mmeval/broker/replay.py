"""Replays a program with journalled answers, to find the calls that are still open."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from mmeval.backend.sendable import missing
from mmeval.broker.acceptance import fault_of
from mmeval.broker.broker import Broker
from mmeval.broker.scope import Scope, Transcript
from mmeval.program.calls import (
    Call,
    CallFailed,
    Program,
    Reply,
    next_calls,
    with_paths,
)
from mmeval.records.response import Response

ReplayState = Literal["kept", "open", "unaskable"]
"""The state of a program.

``kept``: every call has an answer. ``open``: some calls have no answer. ``unaskable``:
the backend does not support a request of the program.
"""


class Replay(NamedTuple):
    """The state that a program reaches, and its result if all answers are kept.

    ``is_final`` is True if the run uses exactly these answers: it does not check or
    request any of them again.
    """

    state: ReplayState
    result: object = None
    is_final: bool = False


def replay(
    program: Program[Any],
    scope: Scope,
    broker: Broker,
    transcript: Transcript,
) -> Replay:
    """Runs a program with only the journalled answers, which ``transcript`` receives.

    No call is sent. Raises the exceptions of the program, except CallFailed.
    """
    is_final = True
    step = 0
    sent: Reply | list[Reply] | None = None
    try:
        while True:
            try:
                yielded = next_calls(program, sent)
            except StopIteration as stop:
                return Replay("kept", stop.value, is_final)
            shared = step == 0
            replies: list[Reply] = []
            for path, call in with_paths(yielded, step):
                answer = known_reply(
                    call, scope, path, broker, transcript, shared=shared
                )
                if answer.reply is None:
                    return Replay("open")
                replies.append(answer.reply)
                is_final = is_final and answer.is_final
            sent = replies[0] if isinstance(yielded, Call) else replies
            step += 1
    except CallFailed as failed:
        is_unaskable = failed.error.kind == "unsupported"
        return Replay("unaskable" if is_unaskable else "open")
    finally:
        program.close()


class KnownReply(NamedTuple):
    """A reply that is known without a call (or None), with its key in the journal.

    The key is empty if the call is unsupported or the journal is empty. ``is_final`` is
    True for a journalled reply that the run neither checks nor requests again.
    """

    reply: Reply | None
    key: str = ""
    is_final: bool = False


def known_reply(
    call: Call,
    scope: Scope,
    path: str,
    broker: Broker,
    transcript: Transcript,
    *,
    shared: bool,
) -> KnownReply:
    """Returns the journalled reply to a call, or an error for an unsupported call.

    ``transcript`` receives a journalled reply.
    """
    key = ""
    # the key needs the digest of the request, for which media are read
    if len(broker.journal):
        keyed_call = broker.keyed_call(call, scope, path, transcript, shared=shared)
        key = keyed_call.key
        entry = broker.journal.get(key)
        if entry is not None and entry.request_digest == keyed_call.digest:
            is_final = not entry.raw and not fault_of(call, entry.response)
            return KnownReply(transcript.note(keyed_call, entry), key, is_final)

    runtime = broker.roles.get(call.role)
    reasons = ["has no backend"]
    if runtime is not None:
        reasons = missing(call, runtime.capabilities)
    if not reasons:
        return KnownReply(None, key)
    return KnownReply(Reply(Response.failed("unsupported", "; ".join(reasons)), path))
