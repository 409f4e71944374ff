"""The broker: the one executor of calls.

It runs programs, finds each call's answer in the journal or asks a backend for it, and
keeps what comes back before the program goes on. Single flight, replay and asking again
for an acceptable reply live here and nowhere else; limits and retries with the roles.
A question takes this path: ``run``, ``_answer``, ``_ask``, ``_reply``, then ``ask`` and
``_once`` of its role, and the backend.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mmeval.backend.sendable import Sendable, route_mark, sendable
from mmeval.broker.acceptance import checked, fault_of, with_warnings
from mmeval.broker.runtime import BackendRuntime, Tries
from mmeval.broker.scope import Question, Scope, Transcript
from mmeval.errors import ReplayMismatchError, StorageError, sentence
from mmeval.program.calls import Call, Program, Reply, next_asked, placed
from mmeval.records.digests import call_seed, line_digest
from mmeval.records.request import Request
from mmeval.records.response import ErrorInfo, Response
from mmeval.store.call_context import NO_CONTEXT
from mmeval.store.journal import Journal, JournalEntry
from mmeval.store.response_cache import ResponseCache
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
        return sum(runtime.role.in_flight for runtime in self._runtimes)

    # --- the path of a question -------------------------------------------------------

    async def run(
        self, program: Program[T], scope: Scope, transcript: Transcript | None = None
    ) -> T:
        """Run a program; its exchanges go to the transcript. Raises what the program
        raises."""
        if transcript is None:
            transcript = Transcript()
        step = 0
        sent: Reply | list[Reply] | None = None
        while True:
            try:
                asked = next_asked(program, sent)
            except StopIteration as stop:
                result: T = stop.value
                return result
            shared = scope.share and step == 0
            questions = [
                self.question(call, scope, path, transcript, shared=shared)
                for path, call in placed(asked, step)
            ]
            if isinstance(asked, Call):
                entry = await self._answer(questions[0])
                sent = transcript.note(questions[0], entry)
            else:
                # when one raises, the others are kept
                answers = await asyncio.gather(
                    *map(self._answer, questions), return_exceptions=True
                )
                entries = []
                for answer in answers:
                    if isinstance(answer, BaseException):
                        raise answer
                    entries.append(answer)
                sent = [*map(transcript.note, questions, entries)]
            step += 1

    def question(
        self,
        call: Call,
        scope: Scope,
        path: str,
        transcript: Transcript,
        *,
        shared: bool,
    ) -> Question:
        """The next call of a program, under its name in the journal; ``shared``: it is
        named by its content, and shared with all trials that ask the same."""
        role, digest = call.role, call.request.digest
        occurrence = transcript.occurrence(f"{role}/{digest}")
        runtime = self.roles.get(role)
        if runtime is None:
            key = f"{scope.name}#{path}"
        else:
            routes = route_mark(call, runtime.capabilities)
            form = f"+{routes}" if routes else ""  # in which media may have been shown
            # A reply is reused only if the same backend gave it.
            backend = f"@{runtime.mark}{form}"
            if runtime.samples is not None:
                # An answer from the sample costs nothing: after a change of the sample
                # or the prompt it is made anew.
                content = f"{scope.sample.digest[:12]}{digest[:12]}"
                key = f"{scope.name}#{path}{backend}/{content}"
            elif shared:
                key = f"{role}{form}/{digest}/{scope.repeat}"
                if occurrence:
                    key = f"{key}/{occurrence}"
            elif scope.by_content:
                key = f"{role}{backend}/{digest}/{occurrence}"
            else:
                key = f"{scope.name}#{path}{backend}"
        return Question(
            call, scope, path, key, digest, occurrence, newest=transcript.newest
        )

    async def _answer(self, question: Question) -> JournalEntry:
        """The journalled answer, or that for which another trial waits already, or a
        new one, asked once for all trials that wait for the same."""
        entry = self._journalled(question)
        if entry is not None:
            return entry

        key = question.key
        while (flight := self._flights.get(key)) is not None:
            try:
                return await asyncio.shield(flight)
            except asyncio.CancelledError:
                if not flight.cancelled():
                    raise
                # Not this trial was given up, but the one that asked for both: now this
                # one asks.

        flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        try:
            entry = await self._ask(question)
            flight.set_result(entry)
            return entry
        except Exception as error:  # whatever it is, the others that wait raise it
            flight.set_exception(error)
            flight.exception()  # retrieved: no other call may be waiting
            raise
        finally:
            flight.cancel()  # where it has neither answer nor error
            del self._flights[key]

    def _journalled(self, question: Question) -> JournalEntry | None:
        """The journalled answer to a question, if it is acceptable. An answer that a
        worker wrote, and that its process had no time to check, is checked now."""
        call, key = question.call, question.key
        entry = self.journal.get(key)
        if entry is None:
            return None
        if entry.request_digest != question.digest:
            if entry.at < question.newest:
                return None
            raise ReplayMismatchError(
                f"step {question.path} of {question.scope.name} now asks something "
                "else than what is journalled under it: the task, its prompt or its "
                "protocol changed. --fresh starts over, --run_id NAME keeps both"
            )
        if not entry.raw:
            return None if fault_of(call, entry.response) else entry

        # it has just come, and is checked by the task that asked for it
        if key in self._flights:
            return None
        runtime = self.roles.get(call.role)
        unknown: Sequence[str] = ()
        if runtime is not None:
            unknown = runtime.capabilities.unknown_options(call.request.params)
        response, fault = checked(call, entry.response, self._tags, unknown)
        if response is entry.response:
            return entry
        kept = self.journal.append(
            key, question.digest, response, by=question.by, refused=bool(fault)
        )
        return None if fault else kept._replace(earlier=entry.earlier)

    async def _ask(self, question: Question) -> JournalEntry:
        """Ask until a reply is acceptable, a few times. Every reply is journalled, an
        unacceptable one as a failure with its cost. A failed call was retried by its
        role, so it is not asked again."""
        call, key = question.call, question.key
        runtime = self.roles.get(call.role)
        if runtime is None:
            return _unkept(
                call.request,
                ErrorInfo(
                    "unsupported",
                    f"no backend plays the role {call.role!r}; name one with --role "
                    f"{call.role}=BACKEND",
                ),
            )
        sent = await self._sendable(runtime, call)
        if sent.error is not None:
            return _unkept(call.request, sent.error)

        unknown = runtime.capabilities.unknown_options(call.request.params)
        endpoint = runtime.endpoint(call.role)
        # answers of a sample, and of an agent whose calls are cached, cost nothing
        cache = None if endpoint is None else self._cache
        # what was refused before is not drawn again
        first = self.journal.refusals(key)
        # a sample gives the same answer for ever
        tries = 1 if runtime.samples is not None else JUDGE_TRIES
        for draw in range(first, first + tries):
            request = self._drawn(question, sent.request, draw).without_options(unknown)

            cached: Response | None = None
            if cache is not None:
                identity = dict(runtime.identity)
                if routes := route_mark(call, runtime.capabilities):
                    identity["routes"] = routes
                cache_key = cache.key(identity, request.digest, request.seed)
                cached = cache.get(cache_key)
                if cached is not None and fault_of(call, cached):
                    cached = None
            if cached is None:
                response, failures = await self._reply(
                    runtime, request, question, draw, sent.done
                )
            else:
                response, failures = cached, 0

            response = with_warnings(response, sent.done)
            response, fault = checked(call, response, self._tags, unknown)
            entry = self.journal.append(
                key,
                question.digest,
                response,
                by=question.by,
                attempt=failures,
                to=endpoint if cached is None else None,
                in_place=runtime.in_place,
                refused=bool(fault),
            )
            if cache is not None and cached is None:
                # kept for other runs; this one has it, so a failure is a warning
                try:
                    cache.put(cache_key, entry.response)
                except StorageError as error:
                    log.warning(
                        "%s The answer is kept in the run folder", sentence(error)
                    )
            if not fault:
                break
        return entry

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
        if not gaps:
            return Sendable(call.request)
        error = ErrorInfo("unsupported", f"the {call.role} {'; '.join(gaps)}")
        return Sendable(call.request, error=error)

    def _drawn(
        self,
        question: Question,
        request: Request,
        draw: int,
    ) -> Request:
        """The request with its seed, and with its key for the server: the same after a
        kill, another once a reply is journalled as a failure."""
        scope, digest = question.scope, question.digest
        seed = call_seed(
            self._seed,
            digest,
            scope.seed_repeat,
            question.occurrence,
            scope.draw,
            draw,
        )
        if not self._nonce:
            return request.with_seed(seed)
        failed = self.journal.failures(question.key)
        name = f"{self._nonce}/{digest}/{draw}/{failed}/{question.key}"
        key = line_digest(name.encode("utf-8", "surrogatepass"))
        return request.with_seed(seed, key)

    async def _reply(
        self,
        runtime: BackendRuntime,
        request: Request,
        question: Question,
        draw: int,
        warnings: tuple[str, ...],
    ) -> tuple[Response, int]:
        """The reply of a role, by its kind, and how many tries failed before it."""
        scope = question.scope
        if runtime.samples is not None:
            response = runtime.samples.answer(
                scope.task, scope.sample, scope.repeat, request
            )
            return response, 0
        if runtime.programs is not None:
            inner = scope.of_agent(
                question.key, occurrence=question.occurrence, attempt=draw
            )
            program = runtime.programs.program(request)
            transcript = Transcript(newest=question.newest)
            return await self.run(program, inner, transcript), 0

        endpoint = runtime.endpoint(question.call.role)
        # a server's answers are kept here, and the texts of a context cost time
        context = NO_CONTEXT
        if runtime.role.batcher is not None:
            context = question.context(endpoint, draw, warnings)
        tries = Tries()
        try:
            return await runtime.ask(request, context, tries)
        except BaseException:  # also where the call is cancelled
            # The tries of a call that is given up are journalled, so that later
            # sessions count them; what ends the call is worth more than their record.
            if tries.last is not None:
                with contextlib.suppress(StorageError):
                    self.journal.append(
                        question.key,
                        question.digest,
                        tries.last,
                        by=question.by,
                        attempt=tries.failed - 1,
                        to=endpoint,
                    )
            raise

    # --- the end ----------------------------------------------------------------------

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


def _unkept(request: Request, error: ErrorInfo) -> JournalEntry:
    """A reply that is not journalled: nothing was asked, so there is nothing to
    keep."""
    response = Response(error=error, finish_reason="error")
    line = to_line(response.to_json())
    return JournalEntry(request.digest, response, line, at=time.time())
