"""Who asks, and what was exchanged: scopes, questions and transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mmeval.program.calls import Call, Reply, reply_to
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange
from mmeval.store.call_context import CallContext
from mmeval.store.journal import JournalEntry
from mmeval.store.spending import ModelEndpoint


@dataclass(frozen=True, slots=True)
class Scope:
    """The program and trial that calls belong to: what a key is made of.

    ``share`` lets the first step be shared by content, ``by_content`` every step,
    whatever trial it belongs to. ``within`` is the key of the call that an agent
    answers by these, so that they are shared and replayed together with it. ``draw``
    counts how often the agent was asked the same before: its calls then draw anew too.
    """

    task: str
    sample: Sample
    repeat: int = 0
    part: str = ""
    share: bool = True
    within: str = ""
    draw: int = 0
    by_content: bool = False

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
        """The repeat for seeds; 0 where calls are shared, as any repeat may ask
        first."""
        return 0 if self.by_content else self.repeat

    def of_agent(
        self,
        key: str,
        *,
        occurrence: int = 0,
        attempt: int = 0,
    ) -> Scope:
        """The calls by which an agent answers the call with this key.

        ``occurrence`` counts the equal calls before it, ``attempt`` its replies that
        were not acceptable.
        """
        return Scope(
            self.task,
            self.sample,
            self.seed_repeat,
            share=False,
            within=f"{key}~{attempt}" if attempt else key,
            draw=occurrence + (attempt << 16),
        )


class Question(NamedTuple):
    """A call on its way to its role.

    ``path`` is its place in the program, ``key`` its name in the journal.
    ``occurrence`` counts the equal calls of the program before it. ``newest`` is when
    the newest answer to an earlier step came: what is journalled for this step and is
    older was asked after another answer, which is lost.
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
        """Its place, as the journal notes it."""
        return f"{self.scope.name}#{self.path}"

    def context(
        self,
        endpoint: ModelEndpoint | None,
        draw: int,
        warnings: Sequence[str],
    ) -> CallContext:
        """What goes with the call to the process that answers it."""
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
    """What one program has asked, and what it was answered, so far."""

    exchanges: list[Exchange] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """The JSON of each exchange's response, as journalled."""
    keys: list[str] = field(default_factory=list)
    params: list[GenerationParams] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each exchange's answer came, in seconds since the epoch."""
    replayed: int = 0
    """Calls that an earlier process was given the answer to."""
    newest: float = 0.0
    """When the newest answer came, in seconds since the epoch."""
    _seen: dict[str, int] = field(default_factory=dict)

    def occurrence(self, likeness: str) -> int:
        """How many earlier calls of the program asked exactly the same."""
        count = self._seen.get(likeness, 0)
        self._seen[likeness] = count + 1
        return count

    def note(self, question: Question, entry: JournalEntry) -> Reply:
        """Add the answer to a question; returns it as the program gets it."""
        call, path = question.call, question.path
        exchange = Exchange(path, call.role, question.digest, entry.response)
        self.exchanges.append(exchange)
        self.lines.append(entry.line)
        self.keys.append(question.key)
        self.params.append(call.request.params)
        self.times.append(entry.at)
        self.replayed += entry.earlier
        self.newest = max(self.newest, entry.at)
        return reply_to(call, entry.response, path, question.key)
