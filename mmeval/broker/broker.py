"""The broker: the one executor of calls.

It runs programs, finds each call's answer in the journal or asks a backend for it, and
keeps what comes back before the program goes on. Single flight, replay and asking again
for an acceptable reply live here and nowhere else; limits and retries with the roles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from mmeval.backend.sendable import Sendable, route_mark, sendable
from mmeval.broker.runtime import BackendRuntime, Tries
from mmeval.errors import ReplayMismatchError, StorageError, sentence
from mmeval.media.parts import Interleaved, Part, split_reasoning
from mmeval.program.calls import Call, Program, Reply, excerpt, next_asked, reply_to
from mmeval.records.digests import call_seed, line_digest
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import ErrorInfo, ErrorKind, Response
from mmeval.records.sample import Sample
from mmeval.records.trial import Exchange
from mmeval.store.journal import Journal, JournalEntry
from mmeval.store.response_cache import ResponseCache
from mmeval.store.ticket import NO_TICKET, Ticket
from mmeval.system.json_lines import to_line

T = TypeVar("T")

log = logging.getLogger(__name__)

JUDGE_TRIES = 3
"""How often a call is sent until ``Call.accept`` takes the reply; each time with
another seed, each reply paid for."""
CONVERTING = 2
"""So many threads convert media for the calls that allow it; decoding takes memory."""
LAST_TURNS = 20
"""So many turns of the event loop bring a reply from its connection into the journal,
with some to spare."""


@dataclass(slots=True)
class Scope:
    """The program and trial that calls belong to: what a key is made of. ``share`` lets
    the first step be shared by content, ``by_content`` every step, whatever trial it
    belongs to; ``within`` is the key of the call that an agent answers by these, so
    that they are shared and replayed together with it; ``draw`` counts how often the
    agent was asked the same before: its calls then draw anew too."""

    task: str
    sample: Sample
    repeat: int = 0
    part: str = ""
    share: bool = True
    within: str = ""
    draw: int = 0
    by_content: bool = False
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
    """When the newest answer to an earlier step came. What is journalled for a later
    step and is older was asked after another answer, which is lost."""
    _seen: dict[str, int] = field(default_factory=dict)

    def of_agent(self, key: str, *, occurrence: int = 0, attempt: int = 0) -> Scope:
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
            newest=self.newest,
        )

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

    def occurrence(self, request_digest: str) -> int:
        """How many earlier calls of this program asked exactly the same."""
        count = self._seen.get(request_digest, 0)
        self._seen[request_digest] = count + 1
        return count


class _Asked(NamedTuple):
    """A call on its way to its role. ``path`` is its place in the program, ``key`` its
    name in the journal, ``occurrence`` counts equal ones before."""

    call: Call
    scope: Scope
    path: str
    key: str
    occurrence: int

    @property
    def by(self) -> str:
        """Its place, as the journal notes it."""
        return f"{self.scope.name}#{self.path}"


class Broker:
    """Runs programs over the roles of one run.

    ``roles`` maps names to runtimes; a program that asks a role that is not there gets
    a reply with an ``unsupported`` error. ``nonce`` is the run's own, by which its
    calls have keys that no other run has; without it they have none.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        seed: int = 0,
        nonce: str = "",
        cache: ResponseCache | None = None,
        reasoning_tags: tuple[str, str] | None = None,
    ) -> None:
        self.journal = journal
        self.roles: dict[str, BackendRuntime] = {}
        self.live_trials = 0
        """Trials that are asked or judged now: a batch may wait for their calls."""
        self._seed = seed
        self._nonce = nonce
        self._cache = cache
        self._tags = reasoning_tags
        self._flights: dict[str, asyncio.Future[JournalEntry]] = {}
        self._converting: ThreadPoolExecutor | None = None

    @property
    def _runtimes(self) -> Collection[BackendRuntime]:
        """Each once, though it may play several roles."""
        return {id(runtime): runtime for runtime in self.roles.values()}.values()

    @property
    def in_flight(self) -> int:
        """Calls that were sent and are not answered yet."""
        return sum(runtime.in_flight for runtime in self._runtimes)

    async def run(self, program: Program[T], scope: Scope) -> T:
        """Run a program; its exchanges go to ``scope``. Raises what the program
        raises."""
        return await self._drive(program, scope, share=scope.share)

    async def _drive(self, program: Program[T], scope: Scope, *, share: bool) -> T:
        step = 0
        sent: Reply | list[Reply] | None = None
        while True:
            try:
                asked = next_asked(program, sent)
            except StopIteration as stop:
                result: T = stop.value
                return result
            shared = share and step == 0
            if isinstance(asked, Call):
                sent = await self._call(asked, scope, str(step), shared)
            else:
                sent = await self._calls(asked, scope, str(step), shared)
            step += 1

    async def _calls(
        self, calls: Sequence[Call], scope: Scope, path: str, shared: bool
    ) -> list[Reply]:
        """Ask independent calls at the same time; when one raises, the others are
        kept."""
        paths = [f"{path}.{i}" for i in range(len(calls))]
        occurrences = [self._occurrence(call, scope) for call in calls]
        answers = await asyncio.gather(
            *(
                self._answer(c, scope, p, shared, o)
                for c, p, o in zip(calls, paths, occurrences, strict=True)
            ),
            return_exceptions=True,
        )
        found: list[tuple[str, JournalEntry]] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            found.append(answer)
        return [
            self._note(call, scope, p, answer)
            for call, p, answer in zip(calls, paths, found, strict=True)
        ]

    async def _call(self, call: Call, scope: Scope, path: str, shared: bool) -> Reply:
        occurrence = self._occurrence(call, scope)
        return self._note(
            call, scope, path, await self._answer(call, scope, path, shared, occurrence)
        )

    @staticmethod
    def _occurrence(call: Call, scope: Scope) -> int:
        return scope.occurrence(f"{call.role}/{call.request.digest}")

    @staticmethod
    def _note(
        call: Call, scope: Scope, path: str, answer: tuple[str, JournalEntry]
    ) -> Reply:
        key, entry = answer
        scope.newest = max(scope.newest, entry.at)
        if not scope.within:  # what an agent asks is in its trace
            scope.exchanges.append(
                Exchange(path, call.role, call.request.digest, entry.response)
            )
            scope.lines.append(entry.line)
            scope.keys.append(key)
            scope.params.append(call.request.params)
            scope.times.append(entry.at)
            scope.replayed += entry.earlier
        return reply_to(call, entry.response, path, key)

    async def _answer(
        self, call: Call, scope: Scope, path: str, shared: bool, occurrence: int
    ) -> tuple[str, JournalEntry]:
        key = self.key_of(call, scope, path, shared=shared, occurrence=occurrence)
        asked = _Asked(call, scope, path, key, occurrence)
        entry = self._kept(asked)
        if entry is not None and entry.request_digest == call.request.digest:
            if not fault_of(call, entry.response):
                return key, entry
        elif entry is not None and entry.at >= scope.newest:
            raise ReplayMismatchError(
                f"step {path} of {scope.name} now asks something else than what is "
                "journalled under it: the task, "
                "its prompt or its protocol changed. --fresh starts over, --run_id "
                "NAME keeps both"
            )
        while (flight := self._flights.get(key)) is not None:
            try:
                return key, await asyncio.shield(flight)
            except asyncio.CancelledError:
                if not flight.cancelled():
                    raise
                # Not this trial was given up, but the one that asked for both: now this
                # one asks.
        return key, await self._fly(asked)

    def key_of(
        self, call: Call, scope: Scope, path: str, *, shared: bool, occurrence: int = 0
    ) -> str:
        """A call's name in the journal: by content where shared, else by its place."""
        runtime = self.roles.get(call.role)
        routes = "" if runtime is None else route_mark(call, runtime.capabilities)
        form = f"+{routes}" if routes else ""  # in which media may have been shown
        if shared and runtime is not None and runtime.samples is None:
            again = f"/{occurrence}" if occurrence else ""
            return f"{call.role}{form}/{call.request.digest}/{scope.repeat}{again}"
        if runtime is None:
            return f"{scope.name}#{path}"
        # A reply is reused only if the same backend gave it.
        if scope.by_content and runtime.samples is None:
            return (
                f"{call.role}@{runtime.mark}{form}/{call.request.digest}/{occurrence}"
            )
        place = f"{scope.name}#{path}@{runtime.mark}{form}"
        if runtime.samples is None:
            return place
        # An answer from the sample costs nothing: after a change of the sample or the
        # prompt it is made anew.
        return f"{place}/{scope.sample.digest[:12]}{call.request.digest[:12]}"

    def _kept(self, asked: _Asked) -> JournalEntry | None:
        """The journalled answer to a call. An answer that a worker wrote, and that its
        process had no time to check, is checked now."""
        entry = self.journal.get(asked.key)
        if (
            entry is None
            or not entry.raw
            or entry.request_digest != asked.call.request.digest
        ):
            return entry
        if asked.key in self._flights:
            return (
                None  # it has just come, and is checked by the task that asked for it
            )
        runtime = self.roles.get(asked.call.role)
        unknown = () if runtime is None else _unknown_options(runtime, asked.call)
        response, fault = self._checked(asked.call, entry.response, unknown)
        if response is entry.response:
            return entry
        kept = self.journal.append(
            asked.key, entry.request_digest, response, by=asked.by, refused=bool(fault)
        )
        return None if fault else kept._replace(earlier=entry.earlier)

    def _checked(
        self, call: Call, response: Response, unknown: Sequence[str]
    ) -> tuple[Response, str]:
        """A response as it is kept, and its fault; the same object where nothing
        changes. ``unknown`` are options that it was asked without."""
        if response.error is not None and response.error.kind == "refused":
            response = response.as_refused()
        if response.output is None:
            return response, ""
        if self._tags is not None:
            output = reasoning_apart(response.output, *self._tags)
            response = (
                response
                if output is response.output
                else replace(response, output=output)
            )
        if unknown:
            response = _with_left_out(response, call.role, unknown)
        fault = fault_of(call, response)
        return (unacceptable(response, fault), fault) if fault else (response, "")

    async def _fly(self, asked: _Asked) -> JournalEntry:
        """Ask, once, however many trials wait for the same answer."""
        flight: asyncio.Future[JournalEntry] = (
            asyncio.get_running_loop().create_future()
        )
        self._flights[asked.key] = flight
        try:
            answer = await self._ask(asked)
            flight.set_result(answer)
            return answer
        except Exception as error:  # whatever it is, the others that wait raise it
            flight.set_exception(error)
            flight.exception()  # retrieved: no other call may be waiting
            raise
        finally:
            flight.cancel()  # where it has neither answer nor error
            del self._flights[asked.key]

    async def _ask(self, asked: _Asked) -> JournalEntry:
        call = asked.call
        runtime = self.roles.get(call.role)
        if runtime is None:
            said = (
                f"no backend plays the role {call.role!r}; name one with --role "
                f"{call.role}=BACKEND"
            )
            return _unkept(call.request, said)
        sent = await self._sendable(runtime, call)
        if sent.error is not None:
            return _unkept(call.request, sent.error.message, sent.error.kind)
        # a sample gives the same answer for ever
        tries = 1 if runtime.samples is not None else JUDGE_TRIES
        # what was refused before is not drawn again
        first = self.journal.refusals(asked.key)
        for attempt in range(first, first + tries - 1):
            entry, acceptable = await self._ask_once(runtime, asked, sent, attempt)
            if acceptable:
                return entry
        return (await self._ask_once(runtime, asked, sent, first + tries - 1))[0]

    async def _sendable(self, runtime: BackendRuntime, call: Call) -> Sendable:
        """What a call sends; where media may have to be converted, a thread does it."""
        if runtime.samples is None and call.convert:
            if self._converting is None:
                self._converting = ThreadPoolExecutor(CONVERTING, "mmeval-convert")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._converting, sendable, call, runtime.capabilities
            )
        gaps = runtime.capabilities.missing(call.request)
        error = (
            ErrorInfo("unsupported", f"the {call.role} {'; '.join(gaps)}")
            if gaps
            else None
        )
        return Sendable(call.request, error=error)

    async def _ask_once(
        self, runtime: BackendRuntime, asked: _Asked, sent: Sendable, attempt: int
    ) -> tuple[JournalEntry, bool]:
        """The reply as it is journalled, and whether it is acceptable. An unacceptable
        one is journalled as a failure with its cost; a failed call was retried, so is
        acceptable."""
        call, scope = asked.call, asked.scope
        request_digest = call.request.digest
        seed = call_seed(
            self._seed,
            request_digest,
            scope.seed_repeat,
            asked.occurrence,
            scope.draw,
            attempt,
        )
        unknown = _unknown_options(runtime, call)
        request = sent.request.with_seed(seed, self._server_key(asked, attempt))
        if unknown:
            request = request.without_options(unknown)
        cache = (
            self._cache
            if runtime.samples is None and runtime.programs is None
            else None
        )
        cache_key = "" if cache is None else _cache_key(runtime, request, call)
        kept = None if cache is None else cache.get(cache_key)
        if kept is not None and fault_of(call, kept):
            kept = None
        response, failures = (
            (kept, 0)
            if kept
            else await self._from_backend(runtime, request, asked, sent, attempt)
        )
        response, fault = self._checked(
            call, _with_warnings(response, sent.done), unknown
        )
        entry = self.journal.append(
            asked.key,
            request_digest,
            response,
            by=asked.by,
            attempt=failures,
            to=runtime.payee(call.role) if kept is None else None,
            in_place=runtime.in_place,
            refused=bool(fault),
        )
        if cache is not None and kept is None:
            _put(cache, cache_key, entry.response)
        return entry, not fault

    def _server_key(self, asked: _Asked, attempt: int) -> str:
        """The key of a call for its server: the same after a kill, another once a reply
        is journalled as a failure."""
        if not self._nonce:
            return ""
        failed = self.journal.failures(asked.key)
        named = (
            f"{self._nonce}/{asked.call.request.digest}/{attempt}/{failed}/{asked.key}"
        )
        return line_digest(named.encode("utf-8", "surrogatepass"))

    async def _from_backend(
        self,
        runtime: BackendRuntime,
        request: Request,
        asked: _Asked,
        sent: Sendable,
        attempt: int,
    ) -> tuple[Response, int]:
        scope = asked.scope
        if runtime.samples is not None:
            return runtime.samples.answer(
                scope.task, scope.sample, scope.repeat, request
            ), 0
        if runtime.programs is not None:
            inner = scope.of_agent(
                asked.key, occurrence=asked.occurrence, attempt=attempt
            )
            return await self._drive(
                runtime.programs.program(request), inner, share=False
            ), 0
        failed = Tries()
        # a server's answers are kept here, and the words of a ticket cost time
        ticket = NO_TICKET
        if runtime.batcher is not None:
            payee = runtime.payee(asked.call.role)
            ticket = Ticket(
                scope.trial, asked.key, asked.by, payee, draw=attempt, remarks=sent.done
            )
        try:
            return await runtime.ask(request, ticket, failed)
        except BaseException:  # also where the call is cancelled
            self._keep_tries(runtime, asked, failed)
            raise

    def _keep_tries(
        self, runtime: BackendRuntime, asked: _Asked, failed: Tries
    ) -> None:
        """Journal the tries of a call that is given up, so that later sessions count
        them."""
        if failed.last is None:
            return
        # what ends the call is worth more than the record of its tries
        with contextlib.suppress(StorageError):
            self.journal.append(
                asked.key,
                asked.call.request.digest,
                failed.last,
                by=asked.by,
                attempt=failed.failed - 1,
                to=runtime.payee(asked.call.role),
            )

    def stop(self) -> None:
        """Make no more calls: these raise StoppedError; those in flight are
        answered."""
        for runtime in self.roles.values():
            runtime.stop()

    async def leave(self) -> None:
        """Close the backends: no more answers come, and what has arrived is in the
        journal. A task that is cancelled while its reply waits for it loses the reply.
        So nothing may come any more, and what has come gets its turns, before the tasks
        of open calls are cancelled."""
        await _turns()
        for runtime in self._runtimes:
            await runtime.close()
        await _turns()

    async def close(self) -> None:
        await self.leave()
        if self._converting is not None:
            self._converting.shutdown(wait=False, cancel_futures=True)
        if self._cache is not None:
            self._cache.close()


async def _turns() -> None:
    for _ in range(LAST_TURNS):
        await asyncio.sleep(0)


def _put(cache: ResponseCache, key: str, response: Response) -> None:
    """Keep an answer for other runs; a failure is a warning, as this run has it."""
    try:
        cache.put(key, response)
    except StorageError as error:
        log.warning("%s The answer is kept in the run folder", sentence(error))


def _unknown_options(runtime: BackendRuntime, call: Call) -> Sequence[str]:
    """The options of a call that its role is asked without."""
    params = call.request.params
    return runtime.capabilities.unknown_options(params) if params.options else ()


def _with_left_out(response: Response, role: str, unknown: Sequence[str]) -> Response:
    """The response with a warning of each option that was left out."""
    return _with_warnings(
        response,
        [f"the {role} knows no option {name}; it was left out" for name in unknown],
    )


def _with_warnings(response: Response, said: Sequence[str]) -> Response:
    """The response with these warnings; the very same one where it has them already."""
    news = [one for one in said if one not in response.warnings]
    return replace(response, warnings=(*response.warnings, *news)) if news else response


def fault_of(call: Call, response: Response) -> str:
    """What is wrong with a reply that came, if asking again may help.

    Failures are told by their error, and what is refused once is refused again.
    """
    if response.is_refused:
        return ""
    return call.fault_in(response)


def unacceptable(response: Response, fault: str) -> Response:
    """An unacceptable reply as a failure; its cost and its source stay."""
    error = ErrorInfo("bad_reply", fault, reply=excerpt(response))
    return replace(response, output=None, error=error, finish_reason="error")


def _cache_key(runtime: BackendRuntime, request: Request, call: Call) -> str:
    """The key of an answer in other runs: the backend, the request, the media's
    form."""
    routes = route_mark(call, runtime.capabilities)
    identity = {**runtime.identity, "routes": routes} if routes else runtime.identity
    return ResponseCache.key(identity, request.digest, request.seed)


def _unkept(
    request: Request, why: str, kind: ErrorKind = "unsupported"
) -> JournalEntry:
    """A reply that is not journalled: nothing was asked, so there is nothing to
    keep."""
    response = Response.failed(kind, why)
    return JournalEntry(
        request.digest, response, to_line(response.to_json()), at=time.time()
    )


def reasoning_apart(output: Interleaved, opening: str, closing: str) -> Interleaved:
    """Make hidden reasoning that a model wrote into its text parts of its own.

    Placeholders that the model only thought of stay in its reasoning: the media of the
    answer belong to the others.
    """
    if not any(
        part.kind != "reasoning" and (opening in part.raw or closing in part.raw)
        for part in output.parts
    ):
        return output
    if _natively_interleaved(output):
        pieces = [
            split_reasoning(p.raw, opening, closing) if p.kind == "text" else [p]
            for p in output.parts
        ]
        return Interleaved(tuple(part for piece in pieces for part in piece))
    parts: list[Part] = []
    for piece in split_reasoning(output.raw, opening, closing):
        parts.extend(
            (piece,)
            if piece.kind == "reasoning"
            else Interleaved.from_text(piece.raw).parts
        )
    # one that two placeholders name is one medium
    made = {id(medium): medium for medium in output.media()}
    return Interleaved(tuple(parts)).filled(list(made.values()))


def _natively_interleaved(output: Interleaved) -> bool:
    """Whether media without a placeholder stand before words, placed by order alone."""
    written = [position for position, part in enumerate(output.parts) if part.raw]
    return any(
        part.media is not None and not part.raw
        for part in output.parts[: written[-1] if written else 0]
    )
