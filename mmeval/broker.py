"""The broker: the one executor of calls.

It runs programs, finds each call's answer in the journal or asks a backend for it, and keeps what comes back before the
program goes on. Single flight and replay live here and nowhere else; limits and retries with the roles.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mmeval.cache import ResponseCache
from mmeval.content import Interleaved, Part, split_reasoning
from mmeval.digest import call_seed
from mmeval.errors import ReplayMismatchError, StorageError
from mmeval.journal import Entry, Journal
from mmeval.lines import to_line
from mmeval.program import Call, Program, Reply, Role
from mmeval.records import Exchange, Request, Response, Sample
from mmeval.roles import RoleRuntime

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Scope:
    """Whose calls these are: what a key is made of. ``share`` lets the first step be shared by content; ``within`` is
    the key of the call that an agent answers by these, so that they are shared and replayed together with it, and
    ``draw`` counts how often the agent was asked the same before: its calls then draw anew too."""

    task: str
    sample: Sample
    repeat: int = 0
    part: str = ""
    share: bool = True
    within: str = ""
    draw: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """The JSON of each exchange's response, as journalled."""
    keys: list[str] = field(default_factory=list)
    replayed: int = 0
    """Calls that an earlier process was given the answer to."""
    newest: float = 0.0
    """When the newest answer to an earlier step came. What is journalled for a later step and is older was asked after
    another answer, which is lost."""
    _seen: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        if self.within:
            return self.within
        return f"{self.trial}/{self.part}" if self.part else self.trial

    @property
    def trial(self) -> str:
        return f"{self.task}/{self.sample.id}/{self.repeat}"

    def occurrence(self, request_digest: str) -> int:
        """How many earlier calls of this program asked exactly the same."""
        count = self._seen.get(request_digest, 0)
        self._seen[request_digest] = count + 1
        return count


class Broker:
    """Runs programs over the roles of one run.

    ``roles`` maps names to runtimes; a program that asks a role that is not there gets a reply with an ``unsupported``
    error.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        seed: int = 0,
        cache: ResponseCache | None = None,
        reasoning_tags: tuple[str, str] | None = None,
    ) -> None:
        self.journal = journal
        self.roles: dict[str, RoleRuntime] = {}
        self.live_trials = 0
        self._seed, self._cache, self._tags = seed, cache, reasoning_tags
        self._flights: dict[str, asyncio.Future[Entry]] = {}

    async def run(self, program: Program[T], scope: Scope) -> T:
        """Drive a program to its result, recording its exchanges in ``scope``. Raises what the program raises."""
        return await self._drive(program, scope, "", share=scope.share)

    async def _drive(self, program: Program[T], scope: Scope, prefix: str, *, share: bool) -> T:
        step = 0
        sent: Reply | list[Reply] | None = None
        while True:
            try:
                asked = program.send(sent)
            except StopIteration as stop:
                result: T = stop.value
                return result
            shared = share and step == 0
            if isinstance(asked, Call):
                sent = await self._call(asked, scope, f"{prefix}{step}", shared)
            else:
                sent = await self._calls(asked, scope, f"{prefix}{step}", shared)
            step += 1

    async def _calls(self, calls: Sequence[Call], scope: Scope, path: str, shared: bool) -> list[Reply]:
        """Independent calls at the same time; when one raises, the others are not left running."""
        paths = [f"{path}.{i}" for i in range(len(calls))]
        occurrences = [self._occurrence(call, scope) for call in calls]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._answer(c, scope, p, shared, o))
                    for c, p, o in zip(calls, paths, occurrences, strict=True)
                ]
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return [self._note(call, scope, p, task.result()) for call, p, task in zip(calls, paths, tasks, strict=True)]

    async def _call(self, call: Call, scope: Scope, path: str, shared: bool) -> Reply:
        occurrence = self._occurrence(call, scope)
        return self._note(call, scope, path, await self._answer(call, scope, path, shared, occurrence))

    @staticmethod
    def _occurrence(call: Call, scope: Scope) -> int:
        return scope.occurrence(f"{call.role}/{call.request.digest}")

    @staticmethod
    def _note(call: Call, scope: Scope, path: str, answer: tuple[str, Entry]) -> Reply:
        key, entry = answer
        scope.exchanges.append(Exchange(path, call.role, call.request.digest, entry.response))
        scope.lines.append(entry.line)
        scope.keys.append(key)
        scope.replayed += entry.earlier
        scope.newest = max(scope.newest, entry.at)
        return Reply(entry.response, path)

    async def _answer(self, call: Call, scope: Scope, path: str, shared: bool, occurrence: int) -> tuple[str, Entry]:
        key = self.key_of(call, scope, path, shared=shared, occurrence=occurrence)
        entry = self.journal.get(key)
        if entry is not None and entry.request_digest == call.request.digest:
            return key, entry
        if entry is not None and entry.at >= scope.newest:
            raise ReplayMismatchError(
                f"step {path} of {scope.name} now asks something else than what is journalled under it: the task, "
                "its prompt or its protocol changed. --fresh starts over, --run_id NAME keeps both"
            )
        while (flight := self._flights.get(key)) is not None:
            try:
                return key, await asyncio.shield(flight)
            except asyncio.CancelledError:
                if not flight.cancelled():
                    raise
                # Not this trial was given up, but the one that asked for both: now this one asks.
        return key, await self._fly(key, call, scope, path, occurrence)

    def key_of(self, call: Call, scope: Scope, path: str, *, shared: bool, occurrence: int = 0) -> str:
        """A call's name in the journal: by content where it may be shared, by its place in the program elsewhere."""
        runtime = self.roles.get(call.role)
        if shared and runtime is not None and runtime.samples is None:
            again = f"/{occurrence}" if occurrence else ""
            return f"{call.role}/{call.request.digest}/{scope.repeat}{again}"
        if runtime is None:
            return f"{scope.name}#{path}"
        # Whoever plays the role now never inherits what another one has said.
        place = f"{scope.name}#{path}@{runtime.mark}"
        if runtime.samples is None:
            return place
        # An answer from the sample costs nothing: after a change of the sample or the prompt it is made anew.
        return f"{place}/{scope.sample.digest[:12]}{call.request.digest[:12]}"

    async def _fly(self, key: str, call: Call, scope: Scope, path: str, occurrence: int) -> Entry:
        """Ask, once, however many trials wait for the same answer."""
        flight: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        try:
            answer = await self._ask(key, call, scope, path, occurrence)
        except BaseException as error:
            flight.set_exception(error) if isinstance(error, Exception) else flight.cancel()
            if flight.done() and not flight.cancelled():
                flight.exception()  # seen: nobody else may be waiting
            raise
        else:
            flight.set_result(answer)
            return answer
        finally:
            del self._flights[key]

    async def _ask(self, key: str, call: Call, scope: Scope, path: str, occurrence: int) -> Entry:
        runtime = self.roles.get(call.role)
        if runtime is None:
            return _unkept(call.request, f"no backend plays the role {call.role!r}")
        gaps = runtime.capabilities.missing(call.request)
        if gaps:
            return _unkept(call.request, f"the {call.role} {'; '.join(gaps)}")
        seed = call_seed(self._seed, call.request.digest, scope.repeat, occurrence, scope.draw)
        request = call.request.with_seed(seed)
        cache = self._cache if runtime.samples is None and runtime.programs is None else None
        cache_key = "" if cache is None else ResponseCache.key(runtime.identity, request.digest, request.seed)
        kept = None if cache is None else cache.get(cache_key)
        response, failures = (kept, 0) if kept else await self._from_backend(runtime, request, key, scope, occurrence)
        if self._tags is not None and response.output is not None:
            response = replace(response, output=_split_reasoning(response.output, *self._tags))
        entry = self.journal.append(
            key,
            request.digest,
            response,
            by=f"{scope.name}#{path}",
            attempt=failures,
            in_place=runtime.samples is not None,
        )
        if cache is not None and kept is None:
            _put(cache, cache_key, entry.response)
        return entry

    async def _from_backend(
        self, runtime: RoleRuntime, request: Request, key: str, scope: Scope, occurrence: int
    ) -> tuple[Response, int]:
        if runtime.samples is not None:
            return runtime.samples.answer(scope.task, scope.sample, scope.repeat, request), 0
        if runtime.programs is not None:
            inner = Scope(
                scope.task,
                scope.sample,
                scope.repeat,
                share=False,
                within=key,
                draw=occurrence,
                newest=scope.newest,
            )
            return await self._drive(runtime.programs.program(request, Role), inner, "", share=False), 0
        return await runtime.ask(request, scope.trial)

    def stop(self) -> None:
        """From now on no call is made; those in flight are answered. The others raise StoppedError."""
        for runtime in self.roles.values():
            runtime.stopping = True

    async def close(self) -> None:
        seen: set[int] = set()
        for runtime in self.roles.values():
            if id(runtime) not in seen:
                seen.add(id(runtime))
                await runtime.close()
        if self._cache is not None:
            self._cache.close()


def _put(cache: ResponseCache, key: str, response: Response) -> None:
    """Keep an answer for other runs. This run has it already: a cache that cannot take it is worth a warning only."""
    try:
        cache.put(key, response)
    except StorageError as error:
        log.warning("%s. The answer is kept in the run folder", error)


def _unkept(request: Request, why: str) -> Entry:
    """A reply that is not journalled: nothing was asked, so there is nothing to keep."""
    response = Response.failed("unsupported", why)
    return Entry(request.digest, response, to_line(response.to_json()), at=time.time())


def _split_reasoning(output: Interleaved, opening: str, closing: str) -> Interleaved:
    """Hidden reasoning that a model wrote into its text, as parts of its own; a quick look when there is none.

    Placeholders that the model only thought of stay in its reasoning: the media of the answer belong to the others.
    """
    if not any(opening in part.raw or closing in part.raw for part in output.parts):
        return output
    if _natively_interleaved(output):
        pieces = [split_reasoning(p.raw, opening, closing) if p.kind == "text" else [p] for p in output.parts]
        return Interleaved(tuple(part for piece in pieces for part in piece))
    parts: list[Part] = []
    for piece in split_reasoning(output.raw, opening, closing):
        parts.extend((piece,) if piece.kind == "reasoning" else Interleaved.from_text(piece.raw).parts)
    made = {id(medium): medium for medium in output.media()}  # one that two placeholders name is one medium
    return Interleaved(tuple(parts)).filled(list(made.values()))


def _natively_interleaved(output: Interleaved) -> bool:
    """Whether media stand between words without a placeholder: their place is all that says where they belong."""
    written = [position for position, part in enumerate(output.parts) if part.raw]
    return any(part.media is not None and not part.raw for part in output.parts[: written[-1] if written else 0])
