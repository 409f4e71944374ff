"""Identifies the calls of a program, with scopes, keyed calls and transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from mmeval.program.calls import Call, Reply, reply_to
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange
from mmeval.store.call_context import CallContext
from mmeval.store.journal import JournalEntry
from mmeval.store.spending import ModelEndpoint


class Patience(Protocol):
    """Counts the verdicts of a metric (:mod:`mmeval.broker.checks.patience`)."""

    async def admit(self) -> None: ...
    async def settle(
        self, error: ErrorInfo | None, *, has_reply: bool = True
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """The program and trial that calls belong to.

    Journal keys are derived from the scope. ``share`` allows trials to share the first
    step if its content is equal; ``by_content`` allows this for every step. ``within``
    is only set for the calls of an agent. It is the key of the call that the agent
    answers, so that this call and the agent's calls are shared and replayed together.
    ``draw`` distinguishes equal calls to an agent, so that the agent's own calls get
    new seeds too.

    ``is_handshake`` is True for the questions of a handshake. They are sent without
    another handshake, and they keep their own seeds. ``patience`` counts the verdicts
    of a judged metric that cannot be read.
    """

    task: str
    sample: Sample
    repeat: int = 0
    part: str = ""
    share: bool = True
    within: str = ""
    draw: int = 0
    by_content: bool = False
    is_handshake: bool = False
    patience: Patience | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        if self.within:
            return self.within
        return f"{self.trial}/{self.part}" if self.part else self.trial

    @property
    def trial(self) -> str:
        return f"{self.task}/{self.sample.id}/{self.repeat}"

    @property
    def seed_repeat(self) -> int:
        """The repeat that seeds depend on, or 0 if repeats share calls."""
        return 0 if self.by_content else self.repeat

    def of_agent(
        self,
        key: str,
        *,
        occurrence: int = 0,
        draw: int = 0,
    ) -> Scope:
        """Returns the scope of an agent's calls. ``key`` is the call that it answers.

        ``occurrence`` is the number of equal calls before this call. ``draw`` is the
        number of its replies that were not acceptable.
        """
        return Scope(
            self.task,
            self.sample,
            self.seed_repeat,
            share=False,
            within=f"{key}~{draw}" if draw else key,
            draw=occurrence + (draw << 16),
            is_handshake=self.is_handshake,
        )


class KeyedCall(NamedTuple):
    """A call with its key in the journal.

    ``path`` is its position in the program. ``occurrence`` is the number of equal calls
    before it in the program. ``newest`` is the time of the newest answer to an earlier
    step. If a journalled answer to this step is older than that, it was given after
    another answer to an earlier step, and that earlier answer is lost.
    """

    call: Call
    scope: Scope
    path: str
    key: str
    digest: str
    occurrence: int
    newest: float

    @property
    def by(self) -> str:
        """The position of the call, as the journal records it."""
        return f"{self.scope.name}#{self.path}"

    def context(
        self,
        endpoint: ModelEndpoint | None,
        draw: int,
        warnings: Sequence[str],
    ) -> CallContext:
        """Returns the context that a process needs to journal the answer."""
        return CallContext(
            self.scope.trial,
            self.key,
            self.by,
            endpoint,
            draw=draw,
            warnings=tuple(warnings),
        )


@dataclass(slots=True)
class Transcript:
    """The calls of one program so far, with their answers."""

    exchanges: list[Exchange] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """The journalled JSON of each exchange's response."""
    keys: list[str] = field(default_factory=list)
    params: list[GenerationParams] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """The time of each answer, in seconds since the epoch."""
    replayed: int = 0
    """Number of answers that an earlier process received."""
    newest: float = 0.0
    """The time of the newest answer, in seconds since the epoch."""
    _counts: dict[str, int] = field(default_factory=dict)

    def occurrence(self, request: str) -> int:
        """Counts a request. Returns the number of earlier requests that are equal."""
        count = self._counts.get(request, 0)
        self._counts[request] = count + 1
        return count

    def note(self, keyed_call: KeyedCall, entry: JournalEntry) -> Reply:
        """Adds an answer. Returns the reply for the program."""
        call, path = keyed_call.call, keyed_call.path
        exchange = Exchange(path, call.role, keyed_call.digest, entry.response)
        self.exchanges.append(exchange)
        self.lines.append(entry.line)
        self.keys.append(keyed_call.key)
        self.params.append(call.request.params)
        self.times.append(entry.at)
        self.replayed += entry.earlier
        self.newest = max(self.newest, entry.at)
        return reply_to(call, entry.response, path, keyed_call.key)
